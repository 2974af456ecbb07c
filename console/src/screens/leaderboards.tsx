import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { curl } from '../api/bodies.ts';
import { admin } from '../api/client.ts';
import { leaderboardFiguresQuery, leaderboardsQuery, type Leaderboard } from '../api/queries.ts';
import { useNamed } from '../api/use-named.ts';
import { editsOf, ResourceList } from '../resource/resource-list.tsx';
import { useForm } from '../resource/use-form.ts';
import { boardText, inWeeks } from '../rule-text.ts';
import { Code, Empty, Screen, Status } from '../ui/parts.tsx';
import { Daily, Figure } from '../ui/sparkline.tsx';
import type { Column } from '../ui/table-frame.tsx';
import { OpenJob } from './open-job.tsx';

/** All leaderboards, as the list and the editor show them. */
const boardsQuery = { ...leaderboardsQuery, select: (boards: Leaderboard[]) => boards.map(inWeeks) };

interface Sent {
  id: string;
  runUnit?: string | null;
  runInterval?: number;
}

/** The changed fields. A changed unit or number of a run is sent with the other one, because a number means nothing without its unit. */
function withWholeRun(sent: Sent, boards: readonly Leaderboard[] | undefined): Sent {
  const { runUnit, runInterval } = inWeeks<Partial<Leaderboard>>(boards?.find(({ id }) => id === sent.id) ?? {});
  const isChanged = sent.runUnit !== undefined || sent.runInterval !== undefined;
  return isChanged && sent.runUnit !== null
    ? { ...(runUnit && { runUnit }), ...(runInterval && { runInterval }), ...sent }
    : sent;
}

export function Leaderboards() {
  const boards = useQuery(leaderboardsQuery).data;
  const rules = useNamed();
  const fields = useForm('leaderboard');
  const figures = useQuery(leaderboardFiguresQuery).data?.leaderboards;
  const figuresOf = (board: Leaderboard) => figures?.find(({ id }) => id === board.id);
  const columns: readonly Column<Leaderboard>[] = [
    {
      id: 'name',
      header: 'Name',
      value: ({ name }) => name,
      cell: ({ key, name }) => (
        <Link to="/leaderboards/$key" params={{ key }} className="font-medium text-accent hover:underline">
          {name}
        </Link>
      ),
    },
    { id: 'key', folds: true, header: 'Key', cell: ({ key }) => <Code>{key}</Code> },
    { id: 'rule', header: 'Rule', cell: (board) => boardText(board, rules), wraps: true },
    {
      id: 'participants',
      header: 'Participants',
      align: 'right',
      value: (board) => figuresOf(board)?.participants ?? 0,
      cell: (board) => <Figure of={figuresOf(board)?.participants} />,
    },
    {
      id: 'days',
      folds: true,
      header: 'Changes of rank, 30 days',
      cell: (board) => (
        <Daily
          label={`Changes of rank in ${board.name} by day`}
          values={figuresOf(board)?.days.map(({ changed }) => changed)}
        />
      ),
    },
    {
      id: 'status',
      header: 'Status',
      cell: ({ id, status }) => (
        <>
          <Status of={status} /> <OpenJob of={id} />
        </>
      ),
    },
  ];
  return (
    <Screen
      title="Leaderboards"
      about="Rankings of users by a metric, points or streaks. A leaderboard can start again every few days, weeks, months or years."
    >
      <ResourceList
        noun="leaderboard"
        nameOf={({ name }) => name}
        query={boardsQuery}
        columns={columns}
        analysis={({ id }) => ({ view: 'leaderboards', id })}
        fields={fields}
        {...editsOf('/v1/leaderboards')}
        update={(item: Sent) => admin.PATCH('/v1/leaderboards', { body: [withWholeRun(item, boards) as never] })}
        removal="Its rankings and past runs can no longer be read. The versions under Configuration can bring it back; it is then filled from history."
        empty={
          <Empty
            title="No leaderboards yet"
            curl={curl('POST', '/v1/leaderboards', [
              { key: 'week', name: 'This week', rankBy: 'streak', status: 'active' },
            ])}
          >
            Create one here, or with:
          </Empty>
        }
      />
    </Screen>
  );
}
