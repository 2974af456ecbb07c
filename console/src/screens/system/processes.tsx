import type { ServerMetrics } from '../../api/metrics.ts';
import { agoInRealTime, number } from '../../ui/format.ts';
import { bytes } from '../../ui/measures.ts';
import { Panel, Tag } from '../../ui/parts.tsx';

const NAMES = {
  memory: 'process_resident_memory_bytes',
  cpu: 'process_cpu_seconds_total',
  busy: 'nodejs_eventloop_utilization',
  started: 'process_start_time_seconds',
  up: 'laurel_process_up',
  restarts: 'laurel_process_restarts_total',
} as const;

type Row = Partial<Record<keyof typeof NAMES, number>>;

/** A process that answers alone has no name. */
const ALONE = 'this process';

function rowsOf(metrics: ServerMetrics | undefined): [string, Row][] {
  const rows = new Map<string, Row>();
  for (const [field, name] of Object.entries(NAMES))
    for (const { labels, value } of metrics?.samples.get(name) ?? []) {
      const process = labels['process'] ?? ALONE;
      rows.set(process, { ...rows.get(process), [field]: value });
    }
  return [...rows].toSorted(([a], [b]) => a.localeCompare(b, undefined, { numeric: true }));
}

/** The processes of one start, or the one that answers. */
export function Processes({ metrics }: { metrics: ServerMetrics | undefined }) {
  const rows = rowsOf(metrics);
  return (
    <Panel title="Processes">
      {metrics !== undefined && rows.length === 0 && <p className="text-muted">No processes are known.</p>}
      <ul className="flex flex-col divide-y divide-line">
        {rows.map(([process, { memory, cpu, busy, started, up, restarts = 0 }]) => (
          <li key={process} className="py-1.5">
            <span className="flex flex-wrap items-center gap-2">
              <span className="font-medium">{process}</span>
              {up === 0 && <Tag tone="bad">down</Tag>}
              {restarts > 0 && <Tag tone="warn">{`restarted ${number(restarts)} ×`}</Tag>}
            </span>
            <span className="block text-muted">
              {[
                memory !== undefined && bytes(memory),
                cpu !== undefined && `${number(Math.round(cpu))} s CPU`,
                busy !== undefined && `${number(Math.round(busy * 100))}% busy`,
                started !== undefined && `started ${agoInRealTime(new Date(started * 1_000).toISOString())}`,
              ]
                .filter((fact) => fact !== false)
                .join(' · ')}
            </span>
          </li>
        ))}
      </ul>
    </Panel>
  );
}
