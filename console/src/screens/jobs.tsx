import { keepPreviousData, useInfiniteQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useCallback, useState } from 'react';
import { answer } from '../api/answer.ts';
import { useChange } from '../api/change.ts';
import { admin } from '../api/client.ts';
import type { AdminRead } from '../api/queries.ts';
import { useMayChange } from '../api/session.ts';
import { Button } from '../ui/button.tsx';
import { ConfirmedButton } from '../ui/confirmed.tsx';
import { SelectInput } from '../ui/fields.tsx';
import { ago, moment, number } from '../ui/format.ts';
import { paceText } from '../ui/measures.ts';
import { Empty, Failed, Progress, Screen, Tag, Waiting } from '../ui/parts.tsx';
import type { Column } from '../ui/table-frame.tsx';
import { DataTable } from '../ui/table.tsx';
import { Options } from '../ui/options.tsx';

type Job = AdminRead<'/v1/jobs'>[number];

const PAGE = 100;
/** Polling interval while jobs are unfinished and visible. */
const OPEN_MS = 1_000;

const KINDS: Readonly<Record<Job['kind'], string>> = {
  backdating: 'Backdate an achievement',
  leaderboard_filling: 'Fill a leaderboard',
  recomputation_planning: 'Plan a recomputation',
  recomputation_applying: 'Apply a recomputation',
  recomputation_reverting: 'Revert a recomputation',
  webhook_resend: 'Resend messages',
  verification: 'Verify Redis against Postgres',
  event_retention: 'Delete old events',
  tenant_spreading: 'Spread over shards',
  user_merge: 'Merge users',
  user_deletion: 'Delete a user',
};
const TONES = { waiting: 'warn', running: 'warn', done: 'good', failed: 'bad', cancelled: 'plain' } as const;
const STATUSES = Object.keys(TONES) as Job['status'][];
const isOpen = ({ status }: Job): boolean => status === 'waiting' || status === 'running';

const COLUMNS: readonly Column<Job>[] = [
  { id: 'kind', header: 'Job', cell: ({ kind }) => KINDS[kind] },
  { id: 'about', header: 'Subject', cell: (job) => <About job={job} /> },
  {
    id: 'status',
    header: 'Status',
    cell: ({ status, attempts, error }) => (
      <span title={error ?? undefined}>
        <Tag tone={error === null ? TONES[status] : 'bad'}>
          {attempts > 0 ? `retrying (${number(attempts)})` : status}
        </Tag>
      </span>
    ),
  },
  {
    id: 'progress',
    header: 'Progress',
    cell: (job) => (
      <>
        {job.status === 'done' && job.progress.total === 0 ? (
          <span className="text-muted">nothing to do</span>
        ) : (
          <Progress label={`Progress: ${KINDS[job.kind]}`} of={job.progress} isOpen={isOpen(job)} />
        )}
        {job.status === 'running' && job.started !== null && (
          <span className="block text-xs text-muted">
            {paceText(job.progress, Date.now() - Date.parse(job.started))}
          </span>
        )}
      </>
    ),
  },
  {
    id: 'started',
    header: 'Started',
    cell: ({ started }) => started !== null && <span title={moment(started)}>{ago(started, Date.now())}</span>,
  },
  { id: 'error', header: 'Error', cell: ({ error }) => error !== null && <span title={error}>{error}</span> },
];

function About({ job: { kind, subject } }: { job: Job }) {
  if (subject === null) return kind === 'verification' ? 'All data' : 'Whole installation';
  if (subject.kind !== 'recomputation') return subject.name ?? subject.id;
  return (
    <Link to="/recomputations/$id" params={{ id: subject.id }} className="text-accent hover:underline">
      {subject.id}
    </Link>
  );
}

/** What can be done about a job. */
function Actions({ job: { id, kind, mayCancel, mayRetry } }: { job: Job }) {
  const path = { params: { path: { id } } };
  const cancel = useChange({
    run: () => answer(admin.POST('/v1/jobs/{id}/cancel', path)),
    done: 'The job is cancelled.',
  });
  const retry = useChange({ run: () => answer(admin.POST('/v1/jobs/{id}/retry', path)), done: 'The job runs again.' });
  if (!mayRetry && !mayCancel) return null;
  return (
    <span className="flex gap-2">
      {mayRetry && (
        <Button disabled={retry.isPending} aria-label={`Retry: ${KINDS[kind]}`} onClick={() => retry.mutate()}>
          Retry
        </Button>
      )}
      {mayCancel && (
        <ConfirmedButton
          look="danger"
          aria-label={`Cancel: ${KINDS[kind]}`}
          change={cancel}
          title="Cancel the job?"
          action="Cancel the job"
          about="The job stops. What it has done so far stays."
        >
          Cancel
        </ConfirmedButton>
      )}
    </span>
  );
}

const ACTIONS: Column<Job> = { id: 'actions', header: 'Actions', unseen: true, cell: (job) => <Actions job={job} /> };

/** Background work and its progress. */
export function Jobs() {
  const [status, setStatus] = useState('');
  const mayChange = useMayChange();
  const jobs = useInfiniteQuery({
    queryKey: ['jobs', status],
    initialPageParam: 0,
    queryFn: ({ pageParam }) =>
      answer(
        admin.GET('/v1/jobs', {
          params: {
            query: { limit: PAGE, skip: pageParam, ...(status !== '' && { status: status as Job['status'] }) },
          },
        }),
      ),
    getNextPageParam: (page, pages) => (page.length < PAGE ? undefined : pages.length * PAGE),
    placeholderData: keepPreviousData,
    refetchInterval: ({ state }) => (state.data?.pages.some((page) => page.some(isOpen)) ? OPEN_MS : false),
  });
  const { hasNextPage, isFetching, fetchNextPage } = jobs;
  const onEnd = useCallback(() => {
    if (hasNextPage && !isFetching) void fetchNextPage();
  }, [hasNextPage, isFetching, fetchNextPage]);
  const rows = jobs.data?.pages.flat() ?? [];
  return (
    <Screen
      title="Jobs"
      about="Long background work, newest first. A failed job is retried until it succeeds or is cancelled."
    >
      <SelectInput
        className="max-w-48"
        aria-label="Status"
        value={status}
        onChange={({ target }) => setStatus(target.value)}
      >
        <option value="">All statuses</option>
        <Options of={STATUSES.map((one) => [one, one])} />
      </SelectInput>
      {jobs.isError && <Failed error={jobs.error} />}
      {jobs.isPending ? (
        !jobs.isError && <Waiting />
      ) : rows.length === 0 ? (
        <Empty
          title={status === '' ? 'No jobs' : `No ${status} jobs`}
          curl={`curl ${location.origin}/v1/jobs -H "X-API-KEY: $LAUREL_KEY"`}
        >
          Jobs start when you activate an achievement or a leaderboard, recompute, resend messages or verify Redis. This
          command lists them:
        </Empty>
      ) : (
        <DataTable
          tall
          label="Jobs"
          columns={mayChange ? [...COLUMNS, ACTIONS] : COLUMNS}
          rows={rows}
          rowId={({ id }) => id}
          onEnd={onEnd}
        />
      )}
    </Screen>
  );
}
