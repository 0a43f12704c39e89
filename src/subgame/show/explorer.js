// Shows the HTML that Python drew, and tells Python which action was clicked.
function render({ model, el }) {
  const draw = () => { el.innerHTML = model.get("html"); };
  const click = (event) => {
    const button = event.target.closest("button[data-line]");
    if (!button) return;
    model.set("line", button.dataset.line);
    model.save_changes();
  };
  model.on("change:html", draw);
  el.addEventListener("click", click);
  draw();
  return () => { model.off("change:html", draw); el.removeEventListener("click", click); };
}
export default { render };
