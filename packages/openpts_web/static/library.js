// The list follows a choice at once, and what is being read appears by itself.
"use strict";
(() => {
  const filters = document.querySelector("form.filters");
  for (const field of filters.querySelectorAll("select, input[type=date]"))
    field.addEventListener("change", () => filters.requestSubmit());
  filters.addEventListener("submit", () => {
    for (const field of filters.elements) if (field.name && !field.value) field.disabled = true;
  });
  addEventListener("pageshow", () => { for (const field of filters.elements) field.disabled = false; });

  const choice = document.getElementById("choice");
  const follow = () => {
    const chosen = choice.querySelectorAll("input[name=run]:checked").length;
    choice.classList.toggle("chosen", chosen > 0);
    for (const button of choice.querySelectorAll("button"))
      button.textContent = button.textContent.replace(/ \(.*\)|$/, chosen ? ` (${chosen})` : "");
  };
  choice.addEventListener("change", follow);
  addEventListener("pageshow", follow);

  const unread = document.getElementById("unread");
  const look = async () => {
    const answer = await fetch("/api/runs");
    if (!answer.ok) return;
    const { unread: left } = await answer.json();
    if (!left && !choice.querySelector("input:checked")) location.reload();
    unread.textContent = left ? `${left.toLocaleString("en")} more are being read` : "";
    if (left) setTimeout(look, 2000);
  };
  if (unread) setTimeout(look, 2000);
})();
