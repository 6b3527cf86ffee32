// Search of a manual that is read from a disk: without a server a browser starts no worker, so a frame runs its script.
if (location.protocol === "file:") {
  window.Worker = class {
    constructor(script) {
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      this.frame.reply = (data) => this.onmessage({ data });
      this.frame.srcdoc = `<script>postMessage = frameElement.reply</script><script src="${script}"></script>`;
      this.ready = new Promise((done) => (this.frame.onload = done));
      document.body.append(this.frame);
    }

    postMessage(data) {
      this.ready.then(() => this.frame.contentWindow.onmessage({ data }));
    }

    terminate() {
      this.frame.remove();
    }
  };
}
