import { useMemo } from "preact/hooks";
import type { HistoryInfo, TargetHistory } from "../../src/insight/observe/admin/contract.js";
import { byName } from "../../src/insight/watch/view/flows.js";
import { count, timeOfDay } from "../../src/insight/watch/view/format.js";
import { shortNames } from "../../src/insight/watch/view/names.js";
import { bySeverity, type Severity, targetSeverity } from "../../src/insight/watch/view/severity.js";
import { DialCells, DialHeadings } from "./spark.js";

/** More rows than anybody reads would only make the page slow. */
const SHOWN = 50;
const LETTERS = 30;

function failingText(severity: Severity, { failingSinceAt }: TargetHistory): string {
  if (severity === "warn") return "fails at times";
  if (severity === "unknown") return "failed when last dialled";
  return failingSinceAt === undefined ? "fails" : `fails since ${timeOfDay(failingSinceAt)}`;
}

/** What was dialled in the last ten minutes; those that fail first, then by name. */
export function Targets({ past }: { past: HistoryInfo | undefined }) {
  const all = useMemo(() => {
    const rows = (past?.targets ?? []).map((each) => ({
      name: each.target,
      severity: targetSeverity(each),
      history: each,
    }));
    return rows.sort((a, b) => bySeverity(a.severity, b.severity) || byName(a, b));
  }, [past]);
  const shown = all.slice(0, SHOWN);
  const short = shortNames(
    shown.map(({ name }) => name),
    LETTERS,
  );
  return (
    <section class="panel" aria-labelledby="targets-title">
      <h2 id="targets-title">
        Targets <span class="quiet">{count(all.length)} in ten minutes</span>
      </h2>
      {all.length === 0 && <p class="quiet">Nothing was dialled.</p>}
      {all.length > 0 && (
        <section class="scroll" tabIndex={0} aria-label="List of targets">
          <table class="dialled targets">
            <thead>
              <tr>
                <th>Target</th>
                <DialHeadings />
              </tr>
            </thead>
            <tbody>
              {shown.map(({ name, severity, history }) => (
                <tr key={name} class={severity}>
                  <th scope="row" class="name" title={name}>
                    <span class="dot" aria-hidden="true" />
                    {short(name)}
                    {severity !== "good" && (
                      <span class={`pill ${severity === "unknown" ? "quiet" : severity}`}>
                        {failingText(severity, history)}
                      </span>
                    )}
                  </th>
                  <DialCells history={history} />
                </tr>
              ))}
            </tbody>
          </table>
        </section>
      )}
      {all.length > SHOWN && <p class="quiet">The first {SHOWN} are listed.</p>}
    </section>
  );
}
