//! Numbers of the admin commands.

pub(super) const GET_LOG_PAGE: u8 = 0x02;
pub(super) const IDENTIFY: u8 = 0x06;
pub(super) const ABORT: u8 = 0x08;
pub(super) const SET_FEATURES: u8 = 0x09;
pub(super) const GET_FEATURES: u8 = 0x0A;
pub(super) const ASYNCHRONOUS_EVENT_REQUEST: u8 = 0x0C;
pub(super) const NAMESPACE_MANAGEMENT: u8 = 0x0D;
pub(super) const FIRMWARE_COMMIT: u8 = 0x10;
pub(super) const FIRMWARE_DOWNLOAD: u8 = 0x11;
pub(super) const DEVICE_SELF_TEST: u8 = 0x14;
pub(super) const NAMESPACE_ATTACHMENT: u8 = 0x15;
pub(super) const KEEP_ALIVE: u8 = 0x18;
pub(super) const FORMAT: u8 = 0x80;
pub(super) const SECURITY_SEND: u8 = 0x81;
pub(super) const SECURITY_RECEIVE: u8 = 0x82;
pub(super) const SANITIZE: u8 = 0x84;
