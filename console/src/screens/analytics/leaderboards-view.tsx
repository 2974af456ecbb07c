import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { AdminRead } from '../../api/queries.ts';
import { EditLink } from '../../resource/edit-link.tsx';
import { buttonLook } from '../../ui/button.tsx';
import { Empty } from '../../ui/parts.tsx';
import { calendarDays, number } from '../../ui/format.ts';
import { useAsked, useShown } from './controls.tsx';
import { FigureTable, Figures, Read, Saved, TimeChart } from './parts.tsx';
import { leaderboardsQuery } from './queries.ts';
import { Back, Chosen } from './resource-link.tsx';

type Boards = AdminRead<'/v1/analytics/leaderboards'>;
type Board = Boards['leaderboards'][number];

const CHANGES_NOTE = 'Compared with the end of the day before in the same run. Today is counted tomorrow.';

export function LeaderboardsView() {
  const { id } = useShown();
  const boards = useQuery(leaderboardsQuery(useAsked().range));
  return (
    <Read query={boards}>
      {(all) =>
        id !== undefined ? (
          <OneBoard board={all.leaderboards.find((board) => board.id === id)} all={all} />
        ) : all.leaderboards.length === 0 ? (
          <Empty title="No leaderboard is active" />
        ) : (
          <AllBoards {...all} />
        )
      }
    </Read>
  );
}

const Changes = ({ board, all: { from, to }, title }: { board: Board; all: Boards; title: string }) => (
  <TimeChart
    title={title}
    file={`ranks-${board.key}-${from}-${to}`}
    of="changed"
    before="changedBefore"
    rows={board.days}
    note={CHANGES_NOTE}
  />
);

function AllBoards(all: Boards) {
  const { leaderboards } = all;
  return (
    <>
      <Saved
        title="Participants"
        file="participants"
        rows={leaderboards.map(({ key, name, start, end, groups, participants, changed, changedBefore }) => ({
          key,
          name,
          start,
          end,
          groups,
          participants,
          changed,
          changedBefore,
        }))}
        note="Participants are those of the current run. A user whose rank at the end of a UTC day differs from the day before counts as one change of rank."
      >
        <FigureTable
          label="Participants"
          head={['Leaderboard', 'Run from', 'To', 'Groups', 'Participants', 'Changes of rank', 'Previous period']}
          rows={leaderboards.map((board) => ({
            key: board.id,
            cells: [
              <Chosen key="name" id={board.id} name={board.name} />,
              calendarDays(board.start),
              board.end === null ? '–' : calendarDays(board.end),
              board.groups === 0 ? '–' : number(board.groups),
              number(board.participants),
              number(board.changed),
              number(board.changedBefore),
            ],
          }))}
        />
      </Saved>
      <div className="grid gap-4 md:grid-cols-2">
        {leaderboards.map((board) => (
          <Changes key={board.id} board={board} all={all} title={`Users whose rank changed: ${board.name}`} />
        ))}
      </div>
    </>
  );
}

function OneBoard({ board, all }: { board: Board | undefined; all: Boards }) {
  if (board === undefined)
    return (
      <>
        <Back to="Leaderboards" name="Leaderboard" />
        <Empty title="This leaderboard is not active">Only active leaderboards are analysed.</Empty>
      </>
    );
  const { id, key, name, scores } = board;
  return (
    <>
      <Back to="Leaderboards" name={name}>
        <Link to="/leaderboards/$key" params={{ key }} className={`${buttonLook()} max-md:h-11`}>
          Places
        </Link>
        <EditLink to="/leaderboards" id={id} />
      </Back>
      <Figures
        of={[
          { name: 'Participants now', now: board.participants },
          { name: 'Changes of rank', now: board.changed, before: board.changedBefore },
          ...(board.groups === 0 ? [] : [{ name: 'Groups', now: board.groups }]),
        ]}
      />
      <Changes board={board} all={all} title="Users whose rank changed" />
      {scores.length > 0 && (
        <Saved title="Scores in the current run" file={`scores-${key}`} rows={scores}>
          <FigureTable
            label={`Scores of ${name}`}
            head={['Participants above', 'Rank', 'Score']}
            rows={scores.map(({ percent, rank, value }) => ({
              key: String(percent),
              cells: [`${percent}%`, number(rank), number(value)],
            }))}
          />
        </Saved>
      )}
    </>
  );
}
