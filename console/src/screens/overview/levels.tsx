import { useQueries, useQuery } from '@tanstack/react-query';
import { answer } from '../../api/answer.ts';
import { application } from '../../api/client.ts';
import { pointsQuery } from '../../api/queries.ts';
import { number } from '../../ui/format.ts';
import { Panel } from '../../ui/parts.tsx';
import { Bar } from './bar.tsx';

const SYSTEMS = 3;

/** How many users have reached each level. */
export function Levels() {
  const systems = useQuery(pointsQuery).data?.slice(0, SYSTEMS) ?? [];
  const summaries = useQueries({
    queries: systems.map(({ key }) => ({
      queryKey: ['points', key, 'level-summary'],
      queryFn: () => answer(application.GET('/v1/points/{key}/level-summary', { params: { path: { key } } })),
    })),
  });
  return (
    <Panel title="Users by level">
      {systems.length === 0 && <p className="text-muted">No points systems yet.</p>}
      <div className="flex flex-col gap-3">
        {systems.map(({ key, name }, index) => {
          const levels = summaries[index]?.data ?? [];
          const most = Math.max(1, ...levels.map(({ users }) => users));
          return (
            <div key={key}>
              <p className="text-xs text-muted">{name}</p>
              <ul className="flex flex-col gap-1">
                {levels.map(({ level, users }) => (
                  <Bar key={level.id} share={users / most}>
                    <span className="relative truncate">{level.name}</span>
                    <span className="relative">{number(users)}</span>
                  </Bar>
                ))}
              </ul>
              {levels.length === 0 && <p className="text-muted">This points system has no levels.</p>}
            </div>
          );
        })}
      </div>
    </Panel>
  );
}
