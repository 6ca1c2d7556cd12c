import { useEffect, useState } from "preact/hooks";
import type { Live } from "../state/live.js";

export function LogIn({ live }: { live: Live }) {
  const [problem, setProblem] = useState("");
  useEffect(() => {
    document.title = "drawbridge";
  }, []);
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    const token = String(new FormData(event.currentTarget as HTMLFormElement).get("token") ?? "").trim();
    live.open(token).catch((error: Error) => setProblem(error.message));
  };
  return (
    <main class="log-in">
      <h1 class="wordmark">drawbridge</h1>
      <form onSubmit={submit}>
        <label for="token">Admin token</label>
        <input id="token" name="token" type="password" autocomplete="off" required aria-describedby="where" />
        <p id="where" class="quiet">
          It is in the file that <code>--admin-token-file</code> names. It is sent once, for a session of twelve hours.
        </p>
        <button type="submit">Open</button>
        <p role="alert" class="problem">
          {problem}
        </p>
      </form>
    </main>
  );
}
