import type { CertificateInfo } from "../../src/insight/observe/admin/contract.js";
import { countdown } from "../../src/insight/watch/view/format.js";

/** The one that ends first comes first. */
export function Certificates({ certificates, now }: { certificates: readonly CertificateInfo[]; now: number }) {
  const sorted = [...certificates].sort((a, b) => a.notAfterAt - b.notAfterAt);
  return (
    <section class="panel" aria-labelledby="certificates-title">
      <h2 id="certificates-title">Certificates</h2>
      {sorted.length === 0 && <p class="quiet">None is in use.</p>}
      <ul class="plain">
        {sorted.map((certificate) => {
          const { text, urgency } = countdown(certificate.notAfterAt, now);
          return (
            <li key={`${certificate.fingerprint} ${certificate.use} ${certificate.kind}`} class="certificate">
              <span>
                <strong>{certificate.use}</strong> <span class="quiet">{certificate.kind}</span>
                <br />
                <span class="name" title={certificate.names.join(", ")}>
                  {certificate.subject}
                </span>
              </span>
              <span class={`pill ${{ fine: "good", soon: "warn", over: "bad" }[urgency]}`}>{text}</span>
            </li>
          );
        })}
      </ul>
    </section>
  );
}
