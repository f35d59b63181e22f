// Follows the operation in progress. Without this script the page reloads itself.
"use strict";

const operation = document.querySelector("#operation[data-events]");

if (operation) {
  const announcement = document.getElementById("announcement");
  const unknown = document.getElementById("unknown");
  let events = null;

  const replace = (event) => {
    const focused = operation.contains(document.activeElement) ? document.activeElement.id : "";
    operation.innerHTML = event.data;
    unknown.hidden = true;
    if (focused) {
      document.getElementById(focused)?.focus();
    }
    const description = operation.querySelector(".description")?.textContent ?? "";
    if (announcement.textContent !== description) {
      announcement.textContent = description;
    }
  };

  const close = () => {
    events?.close();
    events = null;
  };

  const follow = () => {
    events = new EventSource(operation.dataset.events);
    events.addEventListener("operation", replace);
    events.addEventListener("unknown", () => {
      unknown.hidden = false;
    });
    events.addEventListener("end", (event) => {
      replace(event);
      close();
      document.removeEventListener("visibilitychange", followIfVisible);
      // Version and actions have changed with the end.
      setTimeout(() => location.replace(location.pathname), 1000);
    });
    events.addEventListener("error", () => {
      if (events?.readyState === EventSource.CLOSED) {
        setTimeout(() => location.reload(), 5000);
      }
    });
  };

  // Browsers open few connections to one site: a hidden tab holds none.
  const followIfVisible = () => {
    if (document.hidden) {
      close();
    } else if (!events) {
      follow();
    }
  };

  document.addEventListener("visibilitychange", followIfVisible);
  followIfVisible();
}
