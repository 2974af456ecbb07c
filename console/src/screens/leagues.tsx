import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { ArrowDown, ArrowUp } from 'lucide-react';
import { useState } from 'react';
import { answer } from '../api/answer.ts';
import { admin, application } from '../api/client.ts';
import type { AdminRead, ApplicationRead, Leaderboard } from '../api/queries.ts';
import { useSettled } from '../api/use-settled.ts';
import { BadgedName } from '../ui/badge.tsx';
import { calendarDays, counted, moment, number } from '../ui/format.ts';
import { Empty, Failed, Panel, Waiting } from '../ui/parts.tsx';
import type { Column } from '../ui/table-frame.tsx';
import { DataTable } from '../ui/table.tsx';
import { UserInput } from '../ui/user-input.tsx';
import { scoreText } from './score-text.ts';

type Tier = AdminRead<'/v1/leaderboards/{id}/leagues'>['tiers'][number];
type League = ApplicationRead<'/v1/users/{id}/leaderboards/{key}/leagues'>;
type Ranking = NonNullable<League['cohort']>['rankings'][number];

/** Polling interval of the present run. */
const LIVE_MS = 5_000;

const TIERS: readonly Column<Tier>[] = [
  { id: 'tier', header: 'Tier', cell: ({ name, badge }) => <BadgedName name={name} badge={badge} /> },
  { id: 'users', header: 'Users', align: 'right', cell: ({ users }) => number(users) },
  { id: 'cohorts', header: 'Cohorts', align: 'right', cell: ({ cohorts }) => number(cohorts) },
];

interface Of {
  board: Leaderboard;
  leagues: NonNullable<Leaderboard['leagues']>;
  /** First day of the run; `''`: the present one. */
  run: string;
}

/** The tiers of a leaderboard in a run, and the cohort of a user. */
export function Leagues({ board, leagues, run }: Of) {
  const query = { ...(run !== '' && { run }) };
  const overview = useQuery({
    queryKey: ['leaderboard', board.key, 'leagues', run],
    queryFn: () => answer(admin.GET('/v1/leaderboards/{id}/leagues', { params: { path: { id: board.id }, query } })),
    refetchInterval: run === '' ? LIVE_MS : false,
  });
  const { cohortUsers, promoted, demoted } = leagues;
  return (
    <>
      <p className="max-w-prose text-muted">
        Users compete in cohorts of up to {number(cohortUsers)} of the same tier. At the end of the run, the first{' '}
        {number(promoted)} of a cohort move up, and the last {number(demoted)} with a score move down.
      </p>
      {overview.isError && <Failed error={overview.error} retry={() => void overview.refetch()} />}
      {overview.isPending && <Waiting />}
      {overview.data && (
        <>
          <DataTable
            lines
            label="Tiers"
            columns={TIERS}
            // The highest stands on top, as in a league table.
            rows={overview.data.tiers.toReversed()}
            rowId={(tier) => String(tier.number)}
          />
          {overview.data.waiting > 0 && (
            <p className="text-muted">
              {counted(overview.data.waiting, 'user')} {overview.data.waiting === 1 ? 'waits' : 'wait'} for a cohort,
              because the tiers are known when the run before is final.
            </p>
          )}
        </>
      )}
      <Cohort board={board} leagues={leagues} run={run} />
    </>
  );
}

/** The user with the first place of a run; `null` if there is none, or each group has its own places. */
function useLeader({ key, breakdownAttributes }: Leaderboard, run: string): string | null | undefined {
  return useQuery({
    queryKey: ['leaderboard', key, 'leader', run],
    queryFn: async (): Promise<string | null> => {
      if (breakdownAttributes.length > 0) return null;
      const query = { limit: 1, offset: 0, ...(run !== '' && { run }) };
      const { rankings } = await answer(
        application.GET('/v1/leaderboards/{key}', { params: { path: { key }, query } }),
      );
      return rankings[0]?.userId ?? null;
    },
  }).data;
}

/** The cohort of a user, by default of the leader. */
function Cohort({ board, run }: Of) {
  const leader = useLeader(board, run);
  const [chosen, setChosen] = useState<string | null>(null);
  const user = chosen ?? leader ?? '';
  const id = useSettled(user.trim());
  const league = useQuery({
    queryKey: ['user', id, 'league', board.key, run],
    queryFn: () =>
      answer(
        application.GET('/v1/users/{id}/leaderboards/{key}/leagues', {
          params: { path: { id, key: board.key }, query: { ...(run !== '' && { run }) } },
        }),
      ),
    enabled: id !== '',
    refetchInterval: run === '' ? LIVE_MS : false,
    retry: false,
  });
  if (leader === undefined) return <Waiting />;
  return (
    <Panel title="Cohort">
      <div className="flex flex-col gap-3">
        <div className="max-w-sm">
          <UserInput
            label="Cohort of"
            hint="A user’s ID. Type the beginning of an ID or name to find users."
            problem={league.error?.message}
            value={user}
            onChange={setChosen}
          />
        </div>
        {league.data && !league.isError && id !== '' && <Shown league={league.data} user={id} />}
      </div>
    </Panel>
  );
}

const MOVES = { up: 'Moves up', stay: 'Stays', down: 'Moves down' } as const;
const MOVED = { up: 'Moved up', stay: 'Stayed', down: 'Moved down' } as const;

const columnsOf = (user: string): readonly Column<Ranking>[] => [
  { id: 'rank', header: 'Place', align: 'right', narrow: true, cell: ({ rank }) => number(rank) },
  {
    id: 'user',
    header: 'User',
    cell: ({ userId, userName }) => (
      <Link
        to="/users/$id"
        params={{ id: userId }}
        className={`max-w-full truncate align-middle text-accent hover:underline ${userId === user ? 'font-bold' : 'font-medium'}`}
      >
        {userName ?? userId}
      </Link>
    ),
  },
  { id: 'id', header: 'ID', onlyWide: true, cell: ({ userId }) => <span className="text-muted">{userId}</span> },
  { id: 'value', header: 'Score', align: 'right', cell: scoreText },
  { id: 'move', header: 'Move', unseen: true, narrow: true, cell: ({ move }) => <Arrow move={move} /> },
];

const Arrow = ({ move }: { move: Ranking['move'] }) =>
  move === 'up' ? (
    <ArrowUp size={14} className="text-accent" role="img" aria-label="up" />
  ) : move === 'down' ? (
    <ArrowDown size={14} className="text-danger" role="img" aria-label="down" />
  ) : null;

/** A cohort, in groups of those who move alike. */
function Shown({ league: { run, tier, tiers, cohort, move }, user }: { league: League; user: string }) {
  const words = run.isClosed ? MOVED : MOVES;
  return (
    <>
      <p>
        <strong>{tier.name}</strong>, tier {tier.number} of {tiers} · {calendarDays(run.start, run.end)} ·{' '}
        {run.isClosed ? 'final' : `final on ${moment(run.finalAt)}`}
      </p>
      {cohort === null ? (
        <Empty title="No cohort yet">
          {user} has no score in this run, or waits until the run before is final. {words[move]}, as things are.
        </Empty>
      ) : (
        <DataTable
          lines
          label={`Cohort of ${user}`}
          columns={columnsOf(user)}
          rows={cohort.rankings}
          rowId={({ userId }) => userId}
          groupOf={(ranking) => words[ranking.move]}
        />
      )}
    </>
  );
}
