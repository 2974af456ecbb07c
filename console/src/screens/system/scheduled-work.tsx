import type { ServerMetrics } from '../../api/metrics.ts';
import { number } from '../../ui/format.ts';
import { Panel, Tag } from '../../ui/parts.tsx';

interface Kind {
  overdueS: number;
  aside: number;
  failures: number;
}

/** The worst value of any worker, by kind. */
function kindsOf(metrics: ServerMetrics | undefined): [string, Kind][] {
  const kinds = new Map<string, Kind>();
  const read = (name: string, field: keyof Kind): void => {
    for (const { labels, value } of metrics?.samples.get(name) ?? []) {
      const kind = labels['kind'] ?? '';
      const known = kinds.get(kind) ?? { overdueS: 0, aside: 0, failures: 0 };
      kinds.set(kind, { ...known, [field]: Math.max(known[field], value) });
    }
  };
  read('laurel_scheduled_work_overdue_seconds', 'overdueS');
  read('laurel_scheduled_work_set_aside', 'aside');
  read('laurel_scheduled_work_failures_total', 'failures');
  return [...kinds].toSorted(([a, one], [b, other]) => other.overdueS - one.overdueS || a.localeCompare(b));
}

/** Less delay than this counts as on time, since work is checked every second. */
const LATE_S = 2;

/** Scheduled work and its delay. */
export function ScheduledWork({ metrics }: { metrics: ServerMetrics | undefined }) {
  const kinds = kindsOf(metrics);
  return (
    <Panel title="Scheduled work">
      {kinds.length === 0 && (
        <p className="text-muted">
          No worker of this process reports scheduled work. Workers on other machines report it at <code>/metrics</code>{' '}
          on their METRICS_PORT.
        </p>
      )}
      <ul className="flex flex-col gap-1">
        {kinds.map(([kind, { overdueS, aside, failures }]) => (
          <li key={kind} className="flex items-center justify-between gap-3">
            <span className="min-w-0 break-words">{kind}</span>
            <span className="flex gap-1">
              {aside > 0 && <Tag tone="warn">{`${number(aside)} failed`}</Tag>}
              {failures > 0 && <Tag>{`${number(failures)} failures`}</Tag>}
              {overdueS >= LATE_S ? (
                <Tag tone="bad">{`${number(Math.round(overdueS))} s late`}</Tag>
              ) : (
                <Tag tone="good">on time</Tag>
              )}
            </span>
          </li>
        ))}
      </ul>
    </Panel>
  );
}
