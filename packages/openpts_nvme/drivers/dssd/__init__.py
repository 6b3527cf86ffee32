"""The test of OCP's specification on a drive: a door to it, what is asked, and acts that measure."""
