import type { LeaderboardPage } from 'laurel-client';
import { useLaurel, useLeaderboard } from 'laurel-client/react';
import { Panel } from './panel.tsx';

type Place = LeaderboardPage['rankings'][number];

/** The first ten places, and the user's with its neighbours if it is below. */
export function LeaderboardPanel({ leaderboard, title }: { leaderboard: string; title: string }) {
  const userId = useLaurel().userId!;
  const top = useLeaderboard(leaderboard, { limit: 10 });
  const { data: near } = useLeaderboard(leaderboard, { around: userId, above: 1, below: 1 });
  return (
    <Panel title={title} loaded={top}>
      {({ rankings, metricName, pointsSystemName }) => {
        const own = near?.rankings.find((place) => place.userId === userId);
        const shown = new Set(rankings.map((place) => place.userId));
        const below = shown.has(userId) ? [] : (near?.rankings ?? []).filter((place) => !shown.has(place.userId));
        return (
          <>
            <p role="status">{own ? `You are number ${own.rank}.` : 'You have no place yet.'}</p>
            {rankings.length > 0 && (
              <table>
                <thead>
                  <tr>
                    <th scope="col">Rank</th>
                    <th scope="col">Name</th>
                    <th scope="col">{metricName ?? pointsSystemName ?? 'Days'}</th>
                  </tr>
                </thead>
                {[rankings, below].map(
                  (places, index) => places.length > 0 && <Places key={index} places={places} userId={userId} />,
                )}
              </table>
            )}
          </>
        );
      }}
    </Panel>
  );
}

function Places({ places, userId }: { places: Place[]; userId: string }) {
  return (
    <tbody>
      {places.map((place) => (
        <tr key={place.userId} aria-current={place.userId === userId ? 'true' : undefined}>
          <td>{place.rank}</td>
          <th scope="row">{place.userName ?? place.userId}</th>
          <td>
            {/* Another key is another element: its animation starts. */}
            <span className="changed" key={place.value}>
              {place.value.toLocaleString()}
            </span>
          </td>
        </tr>
      ))}
    </tbody>
  );
}
