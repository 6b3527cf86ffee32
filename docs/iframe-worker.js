// Search of a manual that is read from a disk: without a server a browser starts no worker, so a frame runs its script.
// As with a worker, a message is a copy, and its answer comes later.
if (location.protocol === "file:") {
  window.Worker = class {
    constructor(script) {
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      this.frame.reply = (data) => setTimeout(() => this.onmessage({ data: structuredClone(data) }));
      this.frame.srcdoc = `<script>postMessage = frameElement.reply</script><script src="${script}"></script>`;
      this.ready = new Promise((done) => (this.frame.onload = done));
      document.body.append(this.frame);
    }

    postMessage(data) {
      this.ready.then(() => this.frame.contentWindow.onmessage({ data: structuredClone(data) }));
    }

    terminate() {
      this.frame.remove();
    }
  };
}
