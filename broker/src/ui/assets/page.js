// Follows the operation in progress. Without this script the page reloads itself.
"use strict";

const operation = document.querySelector("#operation[data-events]");

if (operation) {
  const announcement = document.getElementById("announcement");
  const events = new EventSource(operation.dataset.events);

  const replace = (event) => {
    const focused = operation.contains(document.activeElement) ? document.activeElement.id : "";
    operation.innerHTML = event.data;
    if (focused) {
      document.getElementById(focused)?.focus();
    }
    const headline = operation.querySelector(".description")?.textContent ?? "";
    if (announcement.textContent !== headline) {
      announcement.textContent = headline;
    }
  };

  events.addEventListener("operation", replace);
  events.addEventListener("end", (event) => {
    replace(event);
    events.close();
    // Version and actions have changed with the end.
    location.replace(location.pathname);
  });
  events.addEventListener("error", () => {
    if (events.readyState === EventSource.CLOSED) {
      setTimeout(() => location.reload(), 5000);
    }
  });
}
