import { useQuery } from '@tanstack/react-query';
import { readinessQuery, serverMetricsQuery, type ServerMetrics } from '../../api/metrics.ts';
import { organisationQuery } from '../../api/queries.ts';
import { Chart } from '../../ui/chart.tsx';
import { number } from '../../ui/format.ts';
import { Facts, Failed, Panel, Screen, Tag } from '../../ui/parts.tsx';
import { DeadLetters } from './dead-letters.tsx';
import { Figures } from './figures.tsx';
import { Processes } from './processes.tsx';
import { ScheduledWork } from './scheduled-work.tsx';
import { Servers } from './servers.tsx';
import { Rebuilds } from './rebuilds.tsx';
import { Shards } from './shards.tsx';
import { Verification } from './verification.tsx';

/** The state of the installation, from its metrics. */
export function System() {
  const metrics = useQuery(serverMetricsQuery);
  return (
    <Screen title="System" about="State of this installation, its Redis and its Postgres.">
      {metrics.isError && <Failed error={metrics.error} />}
      <Figures />
      <div className="grid gap-4 lg:grid-cols-2">
        <Readiness metrics={metrics.data} />
        <Servers />
        <Rebuilds />
        <Shards />
        <Panel title="Entries waiting to be stored, last two minutes" className="lg:col-span-2">
          <Backlog metrics={metrics.data} />
        </Panel>
        <Processes metrics={metrics.data} />
        <ScheduledWork metrics={metrics.data} />
      </div>
      <Verification />
      <DeadLetters count={metrics.data?.values.get('laurel_dead_letters')} />
    </Screen>
  );
}

function Readiness({ metrics }: { metrics: ServerMetrics | undefined }) {
  const ready = useQuery(readinessQuery);
  const organisation = useQuery(organisationQuery).data;
  const shown = (name: string): string => {
    const value = metrics?.values.get(name);
    return value === undefined ? '–' : number(value);
  };
  // The largest lag of all Redis servers.
  const lags = (metrics?.samples.get('laurel_persist_lag_seconds') ?? []).map(({ value }) => value);
  return (
    <Panel
      title="Readiness"
      actions={<Tag tone={ready.data?.isReady ? 'good' : 'bad'}>{ready.data?.text ?? 'no answer'}</Tag>}
    >
      {ready.data?.notices.map((notice) => (
        <p key={notice} role="alert" className="mb-2 rounded-md bg-danger-soft px-3 py-2 text-danger">
          {notice}
        </p>
      ))}
      {ready.data !== undefined && ready.data.degraded.length > 0 && (
        <p role="alert" className="mb-2 rounded-md bg-danger-soft px-3 py-2 text-danger">
          Degraded: {ready.data.degraded.join(', ')}
        </p>
      )}
      <Facts
        of={[
          ['Storage lag', lags.length === 0 ? '–' : `${number(Math.max(...lags))} s`],
          ['Pending batches', shown('laurel_batches_waiting')],
          ['Pending webhook messages', shown('laurel_webhook_messages_waiting')],
          ['Multi-tenancy', organisation === undefined ? '–' : organisation.multiTenancy ? 'on' : 'off'],
        ]}
      />
    </Panel>
  );
}

function Backlog({ metrics }: { metrics: ServerMetrics | undefined }) {
  if (metrics === undefined || metrics.backlog.x.length < 2)
    return <p className="h-[140px] text-muted">The chart fills while this page is open.</p>;
  return <Chart whole label="Entries waiting to be stored" x={metrics.backlog.x} y={metrics.backlog.y} />;
}
