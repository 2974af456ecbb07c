import { useQuery } from '@tanstack/react-query';
import { Empty } from '../../ui/parts.tsx';
import { number } from '../../ui/format.ts';
import { useAsked } from './controls.tsx';
import { FigureTable, Read, Saved, TimeChart } from './parts.tsx';
import { leaderboardsQuery } from './queries.ts';

export function LeaderboardsView() {
  const boards = useQuery(leaderboardsQuery(useAsked().range));
  return (
    <Read query={boards}>
      {({ leaderboards, from, to }) =>
        leaderboards.length === 0 ? (
          <Empty title="No leaderboard is active" />
        ) : (
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
                    board.name,
                    board.start,
                    board.end ?? '–',
                    board.groups === 0 ? '–' : number(board.groups),
                    number(board.participants),
                    number(board.changed),
                    number(board.changedBefore),
                  ],
                }))}
              />
            </Saved>
            <div className="grid gap-4 md:grid-cols-2">
              {leaderboards.map(({ id, key, name, days }) => (
                <TimeChart
                  key={id}
                  title={`Users whose rank changed: ${name}`}
                  file={`ranks-${key}-${from}-${to}`}
                  dates={days.map(({ date }) => date)}
                  values={days.map(({ changed }) => changed)}
                  before={days.map(({ changedBefore }) => changedBefore)}
                  rows={days}
                  note="Compared with the end of the day before in the same run. Today is counted tomorrow."
                />
              ))}
              {leaderboards
                .filter(({ scores }) => scores.length > 0)
                .map(({ id, key, name, scores }) => (
                  <Saved key={id} title={`Scores: ${name}`} file={`scores-${key}`} rows={scores}>
                    <FigureTable
                      label={`Scores of ${name}`}
                      head={['Participants above', 'Rank', 'Score']}
                      rows={scores.map(({ percent, rank, value }) => ({
                        key: String(percent),
                        cells: [`${percent}%`, number(rank), number(value)],
                      }))}
                    />
                  </Saved>
                ))}
            </div>
          </>
        )
      }
    </Read>
  );
}
