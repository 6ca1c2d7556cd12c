import { render } from "preact";
import { Live } from "./state/live.js";
import { App } from "./views/app.js";

const place = document.getElementById("page");
if (place !== null) render(<App live={new Live()} />, place);
