// Shows what Python made of a decision, draws its grid, and tells Python which action was clicked.
// `drawGrid` is that of the workbench: its module stands before this one.
function render({ model, el }) {
  const dark = () =>
    document.body.dataset.jpThemeLight === "false" ||
    document.documentElement.dataset.theme === "dark";
  const paint = () =>
    drawGrid(el.querySelector("canvas"), model.get("cells"), { theme: dark() ? "dark" : "light" });
  const watch = new ResizeObserver(paint);
  const draw = () => {
    el.innerHTML = model.get("html");
    watch.disconnect();
    const canvas = el.querySelector("canvas");
    if (canvas) {
      paint();
      watch.observe(canvas);
    }
  };
  const click = (event) => {
    const button = event.target.closest("button[data-line]");
    if (!button) return;
    model.set("line", button.dataset.line);
    model.save_changes();
  };
  model.on("change:html", draw);
  el.addEventListener("click", click);
  draw();
  return () => {
    watch.disconnect();
    model.off("change:html", draw);
    el.removeEventListener("click", click);
  };
}
export default { render };
