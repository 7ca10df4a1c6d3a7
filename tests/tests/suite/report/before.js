// Runs before the page's own code: keeps what goes wrong.
window.problems = [];
window.addEventListener("error", (event) => window.problems.push(String(event.message)));
window.addEventListener("unhandledrejection", (event) => window.problems.push(String(event.reason)));
document.addEventListener("securitypolicyviolation", (event) => window.problems.push(event.violatedDirective));
for (const name of ["error", "warn"]) {
  console[name] = (...all) => window.problems.push(all.map(String).join(" "));
}
