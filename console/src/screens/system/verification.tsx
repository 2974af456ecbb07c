import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { answer } from '../../api/answer.ts';
import { useChange } from '../../api/change.ts';
import { admin } from '../../api/client.ts';
import type { AdminRead } from '../../api/queries.ts';
import { useMayChange } from '../../api/session.ts';
import { Button } from '../../ui/button.tsx';
import { ConfirmedButton } from '../../ui/confirmed.tsx';
import { Ago } from '../../ui/ago.tsx';
import { counted, number } from '../../ui/format.ts';
import { Code, Failed, Panel, Progress, Shell, Tag } from '../../ui/parts.tsx';
import type { Column } from '../../ui/table-frame.tsx';
import { DataTable } from '../../ui/table.tsx';

type Details = AdminRead<'/v1/verifications/{id}'>;
type Difference = Details['found'][number];

const READ_MS = 1_000;

const KINDS: Readonly<Record<Difference['kind'], string>> = {
  user: 'User',
  leaderboard: 'Leaderboard score',
  leaderboardGroups: 'Leaderboard groups',
  leaderboardTeams: 'Leaderboard teams',
  counter: 'Counter',
  points: 'Points distribution',
  idempotencyKey: 'Idempotency key',
  quarantine: 'Quarantine',
  mergedUsers: 'Merged users',
  claims: 'Claims of rewards',
  leagueCohort: 'League cohort',
  outbox: 'Outbox',
};

const COLUMNS: readonly Column<Difference>[] = [
  { id: 'kind', header: 'What', cell: ({ kind }) => KINDS[kind] },
  {
    id: 'of',
    header: 'Of',
    wraps: true,
    cell: ({ userId, key }) =>
      userId === null ? (
        <Code>{key}</Code>
      ) : (
        <Link to="/users/$id" params={{ id: userId }} className="text-accent hover:underline" title={key}>
          {userId}
        </Link>
      ),
  },
  {
    id: 'part',
    header: 'Part',
    wraps: true,
    cell: ({ kind, part }) => (kind === 'leaderboard' ? null : <Code>{part}</Code>),
  },
  { id: 'redis', header: 'In Redis', wraps: true, cell: ({ redis }) => <Code>{redis}</Code> },
  { id: 'postgres', header: 'In Postgres', wraps: true, cell: ({ postgres }) => <Code>{postgres}</Code> },
];

const isOpen = ({ status }: Pick<Details, 'status'>): boolean => status === 'waiting' || status === 'running';

/** The latest verification with what it found. `null`: there is none. */
async function readLatest(): Promise<Details | null> {
  const [latest] = await answer(admin.GET('/v1/verifications'));
  if (latest === undefined) return null;
  return answer(admin.GET('/v1/verifications/{id}', { params: { path: { id: latest.id } } }));
}

/** Compares what Redis and Postgres hold of the tenant, and shows the latest result. */
export function Verification() {
  const mayChange = useMayChange();
  const verification = useQuery({
    queryKey: ['verification'],
    queryFn: readLatest,
    refetchInterval: ({ state }) => (state.data && isOpen(state.data) ? READ_MS : false),
  });
  const start = useChange({ run: () => answer(admin.POST('/v1/verifications')) });
  const latest = verification.data;
  const canStart = mayChange && latest !== undefined && (latest === null || !isOpen(latest));
  return (
    <Panel
      title="Verification"
      actions={
        canStart && (
          <Button disabled={start.isPending} onClick={() => start.mutate()}>
            {latest === null ? 'Verify' : 'Verify again'}
          </Button>
        )
      }
    >
      <p className="mb-2 max-w-prose text-muted">
        Compares what Redis and Postgres hold of this tenant, key by key. Events continue, and nothing is changed.
      </p>
      {verification.isError && <Failed error={verification.error} />}
      {latest === null && <p>Not verified yet.</p>}
      {latest && <Latest of={latest} />}
    </Panel>
  );
}

function Latest({ of }: { of: Details }) {
  const { found, shards, progress, error } = of;
  const cancel = useChange({
    run: () => answer(admin.POST('/v1/jobs/{id}/cancel', { params: { path: { id: of.id } } })),
    done: 'The verification is cancelled.',
  });
  return (
    <div className="flex flex-col gap-3">
      <div className="flex flex-wrap items-center gap-x-3 gap-y-1">
        <Outcome of={of} />
        {isOpen(of) ? (
          <Progress label="Progress of the verification" of={progress} />
        ) : (
          <span className="text-muted">{counted(progress.done, 'value')} compared</span>
        )}
        {isOpen(of) && (
          <ConfirmedButton
            change={cancel}
            title="Cancel the verification?"
            action="Cancel the verification"
            about="It stops. The differences that it has found so far stay."
          >
            Cancel
          </ConfirmedButton>
        )}
      </div>
      {error !== null && <p className="text-danger">Retrying after an error: {error}</p>}
      {found.length > 0 && (
        <>
          <DataTable label="Differences" columns={COLUMNS} rows={found} rowId={({ key, part }) => `${key} ${part}`} />
          <p className="max-w-prose">
            Redis is rebuilt from Postgres shard by shard. This command repairs the{' '}
            {shards.length === 1 ? 'shard' : 'shards'} of this tenant; requests of its tenants get 503 meanwhile:
          </p>
          <Shell>{`npx laurel rebuild ${shards.map((shard) => `--shard ${shard}`).join(' ')}`}</Shell>
        </>
      )}
    </div>
  );
}

function Outcome({ of: { status, differences, endedEarly, finished } }: { of: Details }) {
  const when: ReactNode = finished !== null && <Ago at={finished} className="text-muted" />;
  if (differences > 0)
    return (
      <>
        <Tag tone="bad">
          {endedEarly ? `${number(differences)} differences or more` : counted(differences, 'difference')}
        </Tag>
        {when}
      </>
    );
  if (status === 'done')
    return (
      <>
        <Tag tone="good">nothing differs</Tag>
        {when}
      </>
    );
  return (
    <>
      <Tag tone={status === 'cancelled' ? 'plain' : 'warn'}>{status}</Tag>
      {when}
    </>
  );
}
