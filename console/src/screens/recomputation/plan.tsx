import type { AdminRead } from '../../api/queries.ts';
import { number } from '../../ui/format.ts';
import { Facts, Panel } from '../../ui/parts.tsx';
import type { Column } from '../../ui/table-frame.tsx';
import { DataTable } from '../../ui/table.tsx';
import { UserLink } from '../../ui/user-link.tsx';

type Recomputation = AdminRead<'/v1/recomputations/{id}'>;
type Figures = Recomputation['figures'];
type Planned = Recomputation['samples']['gaining'][number];

const scoreText = (score: number | null): string => (score === null ? 'none' : number(score));

/** Number of users who gain and lose, by resource. */
export function RecomputationFigures({ figures }: { figures: Figures }) {
  const { users, gaining, losing, unchanged, failed, achievements, points, boards } = figures;
  return (
    <Panel title="Changes">
      <div className="flex flex-col gap-4">
        <Facts
          of={[
            ['Users examined', number(users)],
            ['Users who gain', number(gaining)],
            ['Users who lose', number(losing)],
            ['Unchanged users', number(unchanged)],
            ...(failed > 0 ? [['Failed users', number(failed)] as const] : []),
          ]}
        />
        {achievements.length > 0 && (
          <DataTable
            label="By achievement"
            rowId={({ id }) => id}
            rows={achievements}
            columns={[
              { id: 'name', header: 'Achievement', cell: ({ name }) => name },
              { id: 'gaining', header: 'Gained by', align: 'right', cell: (one) => number(one.gaining) },
              { id: 'losing', header: 'Lost by', align: 'right', cell: (one) => number(one.losing) },
            ]}
          />
        )}
        {points.length > 0 && (
          <DataTable
            label="By points system"
            rowId={({ id }) => id}
            rows={points}
            columns={[
              { id: 'name', header: 'Points system', cell: ({ name }) => name },
              { id: 'gaining', header: 'Gain', align: 'right', cell: (one) => number(one.gaining) },
              { id: 'losing', header: 'Lose', align: 'right', cell: (one) => number(one.losing) },
              { id: 'given', header: 'Points given', align: 'right', cell: (one) => number(one.given) },
              { id: 'taken', header: 'Points taken', align: 'right', cell: (one) => number(one.taken) },
            ]}
          />
        )}
        {boards.length > 0 && (
          <DataTable
            label="By leaderboard"
            rowId={({ id }) => id}
            rows={boards}
            columns={[
              { id: 'name', header: 'Leaderboard', cell: ({ name }) => name },
              { id: 'gaining', header: 'Score rises', align: 'right', cell: (one) => number(one.gaining) },
              { id: 'losing', header: 'Score falls', align: 'right', cell: (one) => number(one.losing) },
              { id: 'moving', header: 'Group changes', align: 'right', cell: (one) => number(one.moving) },
            ]}
          />
        )}
      </div>
    </Panel>
  );
}

const COLUMNS: readonly Column<Planned>[] = [
  {
    id: 'user',
    header: 'User',
    cell: ({ userId }) => <UserLink id={userId} />,
  },
  { id: 'gained', header: 'Gains', cell: ({ gained }) => gained.join(', ') },
  { id: 'lost', header: 'Loses', cell: ({ lost }) => lost.join(', ') },
  {
    id: 'points',
    header: 'Points',
    cell: ({ points }) => points.map(({ key, from, to }) => `${key}: ${number(from)} → ${number(to)}`).join(', '),
  },
  {
    id: 'boards',
    header: 'Leaderboards',
    cell: ({ boards }) =>
      boards.map(({ key, run, from, to }) => `${key} (${run}): ${scoreText(from)} → ${scoreText(to)}`).join(', '),
  },
  { id: 'reason', header: 'Reason', cell: ({ reason }) => reason ?? '' },
];

/** Some users of the proposal; nothing if there are none. */
export function PlannedUsers({ title, users }: { title: string; users: readonly Planned[] }) {
  if (users.length === 0) return null;
  const isThere: Readonly<Record<string, boolean>> = {
    gained: users.some(({ gained }) => gained.length > 0),
    lost: users.some(({ lost }) => lost.length > 0),
    points: users.some(({ points }) => points.length > 0),
    boards: users.some(({ boards }) => boards.length > 0),
    reason: users.some(({ reason }) => reason !== null),
  };
  return (
    <section className="flex flex-col gap-2">
      <h2 className="text-base font-semibold">{title}</h2>
      <DataTable
        label={title}
        columns={COLUMNS.filter(({ id }) => isThere[id] !== false)}
        rows={users}
        rowId={({ userId }) => userId}
      />
    </section>
  );
}
