import { useQuery } from '@tanstack/react-query';
import { answer } from '../api/answer.ts';
import { admin } from '../api/client.ts';
import { readinessQuery, serverMetricsQuery, type ServerMetrics } from '../api/metrics.ts';
import { organisationQuery, type AdminRead } from '../api/queries.ts';
import { Chart } from '../ui/chart.tsx';
import { moment, number } from '../ui/format.ts';
import { PagedTable } from '../ui/paged-table.tsx';
import { Code, Empty, Facts, Failed, Panel, Screen, Tag } from '../ui/parts.tsx';
import type { Column } from '../ui/table-frame.tsx';

const MIB = 1_048_576;

/** How the server fares, as its metrics say. */
export function System() {
  const ready = useQuery(readinessQuery);
  const metrics = useQuery(serverMetricsQuery);
  const organisation = useQuery(organisationQuery);
  const read = (name: string): number | undefined => metrics.data?.values.get(name);
  const shown = (name: string, unit = '', divided = 1): string => {
    const value = read(name);
    return value === undefined ? '–' : `${number(value / divided)} ${unit}`;
  };
  return (
    <Screen title="System" about="How this process and what it depends on fare.">
      <div className="grid gap-4 lg:grid-cols-2">
        <Panel
          title="Readiness"
          actions={<Tag tone={ready.data === 'ready' ? 'good' : 'bad'}>{ready.data ?? 'no answer'}</Tag>}
        >
          <Facts
            of={[
              ['Waiting to be stored', shown('laurel_outbox_entries', 'entries')],
              ['History is behind by', shown('laurel_persist_lag_seconds', 's')],
              ['Dead letters', shown('laurel_dead_letters')],
              ['Failures of scheduled work', shown('laurel_scheduled_work_failures_total')],
              ['Multi-tenancy', organisation.data === undefined ? '–' : organisation.data.multiTenancy ? 'on' : 'off'],
            ]}
          />
        </Panel>
        <Panel title="This process">
          <Facts
            of={[
              ['Memory', shown('process_resident_memory_bytes', 'MiB', MIB)],
              ['Heap in use', shown('nodejs_heap_size_used_bytes', 'MiB', MIB)],
              ['CPU since the start', shown('process_cpu_seconds_total', 's')],
              ['Event loop, 99 % within', shown('nodejs_eventloop_lag_p99_seconds', 's')],
              ['Started', moment(startOf(read('process_start_time_seconds')))],
            ]}
          />
        </Panel>
      </div>
      {metrics.isError && <Failed error={metrics.error} />}
      <Panel title="Entries that wait to be stored, the last two minutes">
        <Backlog metrics={metrics.data} />
      </Panel>
      <DeadLetters />
    </Screen>
  );
}

const startOf = (seconds: number | undefined): string | null =>
  seconds === undefined ? null : new Date(seconds * 1000).toISOString();

function Backlog({ metrics }: { metrics: ServerMetrics | undefined }) {
  if (metrics === undefined || metrics.backlog.x.length < 2)
    return <p className="h-[140px] text-muted">It is drawn while you look.</p>;
  return <Chart label="Entries that wait to be stored" x={metrics.backlog.x} y={metrics.backlog.y} />;
}

const LETTERS: readonly Column<AdminRead<'/v1/dead-letters'>[number]>[] = [
  { id: 'id', header: 'Entry', cell: ({ id }) => <Code>{id}</Code> },
  { id: 'reason', header: 'Why it could not be stored', cell: ({ reason }) => <span title={reason}>{reason}</span> },
  { id: 'created', header: 'Since', cell: ({ created }) => moment(created), spare: true },
  { id: 'tries', header: 'Tries', align: 'right', cell: ({ tries }) => tries, spare: true },
];

function DeadLetters() {
  const clock = useQuery({
    queryKey: ['clock'],
    retry: false,
    queryFn: () => answer(admin.GET('/v1/clock')).catch(() => null),
  });
  return (
    <>
      {clock.data && (
        <p className="text-muted">
          The test clock is on: it is <strong>{moment(clock.data.now)}</strong>.
        </p>
      )}
      <Panel title="Dead letters">
        <PagedTable
          label="Dead letters"
          columns={LETTERS}
          rowId={({ id }) => id}
          queryKey={['dead-letters']}
          read={(skip: number, limit) =>
            answer(admin.GET('/v1/dead-letters', { params: { query: { skip, limit, status: 'waiting' } } }))
          }
          first={0}
          next={(skip, _, size) => skip + size}
          empty={
            <Empty title="None: everything that was taken could be stored">
              An entry that cannot be stored waits here, and with <code>npx laurel dead-letters list</code>.
            </Empty>
          }
        />
      </Panel>
    </>
  );
}
