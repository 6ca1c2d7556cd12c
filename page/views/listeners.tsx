import type { ListenerInfo } from "../../src/insight/observe/admin/contract.js";

export function Listeners({ listeners }: { listeners: readonly ListenerInfo[] }) {
  return (
    <section class="panel" aria-labelledby="listeners-title">
      <h2 id="listeners-title">Listeners</h2>
      {listeners.length === 0 && <p class="quiet">None is open.</p>}
      <dl class="facts">
        {listeners.map(({ what, address }) => (
          <>
            <dt key={`${what} ${address}`}>{what}</dt>
            <dd class="name">{address}</dd>
          </>
        ))}
      </dl>
    </section>
  );
}
