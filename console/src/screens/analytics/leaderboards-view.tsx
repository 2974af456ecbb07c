import { useQuery } from '@tanstack/react-query';
import { Empty } from '../../ui/parts.tsx';
import { number } from '../../ui/format.ts';
import { FigureTable, Read, Saved } from './parts.tsx';
import { leaderboardsQuery } from './queries.ts';

export function LeaderboardsView() {
  const boards = useQuery(leaderboardsQuery);
  return (
    <Read query={boards}>
      {({ leaderboards }) =>
        leaderboards.length === 0 ? (
          <Empty title="No leaderboard is active" />
        ) : (
          <>
            <Saved
              title="Participants"
              file="participants"
              rows={leaderboards.map(({ key, name, start, end, groups, participants }) => ({
                key,
                name,
                start,
                end,
                groups,
                participants,
              }))}
              note="In the current run of each active leaderboard."
            >
              <FigureTable
                label="Participants"
                head={['Leaderboard', 'Run from', 'To', 'Groups', 'Participants']}
                rows={leaderboards.map(({ id, name, start, end, groups, participants }) => ({
                  key: id,
                  cells: [name, start, end ?? '–', groups === 0 ? '–' : number(groups), number(participants)],
                }))}
              />
            </Saved>
            <div className="grid gap-4 md:grid-cols-2">
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
