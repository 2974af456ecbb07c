import { useQuery } from '@tanstack/react-query';
import { answer } from '../../api/answer.ts';
import { application } from '../../api/client.ts';
import { leaderboardsQuery, pointsQuery, type ApplicationRead } from '../../api/queries.ts';
import { causeText, type Rule } from '../../rule-text.ts';
import { ago, moment, number } from '../../ui/format.ts';
import { Failed, Panel, Tag } from '../../ui/parts.tsx';
import { UserSpendings } from './user-spendings.tsx';

const AWARDS = 50;

type Award = ApplicationRead<'/v1/users/{id}/points/{key}'>['awards'][number];

export function UserPoints({ id }: { id: string }) {
  const systems = useQuery(pointsQuery);
  const boards = useQuery(leaderboardsQuery);
  const all = systems.data ?? [];
  const named = [...all, ...(boards.data ?? [])];
  return all.map((system) => <Ledger key={system.key} id={id} system={system.key} name={system.name} named={named} />);
}

/** All points systems and leaderboards. */
type Named = readonly { id: string; name: string }[];

/** The rule of the trigger, as the Application API gives it. */
function ruleOf(trigger: NonNullable<Award['trigger']>, named: Named): Rule {
  const { type, points, timeUnit, timeInterval, userAttributes, eventAttributes } = trigger;
  return {
    type,
    points,
    metric: { name: trigger.metricName ?? '' },
    threshold: trigger.metricThreshold ?? 0,
    streakLength: trigger.streakLengthThreshold ?? 0,
    achievements: [{ name: trigger.achievementName ?? '' }],
    timeUnit: timeUnit ?? '',
    timeInterval: timeInterval ?? 0,
    ...(trigger.pointsSystemId !== undefined && {
      pointsSystem: { name: named.find((system) => system.id === trigger.pointsSystemId)?.name ?? '' },
    }),
    ...(trigger.leaderboardId !== undefined && {
      leaderboard: { name: named.find((board) => board.id === trigger.leaderboardId)?.name ?? '' },
    }),
    ...(trigger.rankFrom !== undefined && { rankFrom: trigger.rankFrom }),
    ...(trigger.rankTo !== undefined && { rankTo: trigger.rankTo }),
    ...(trigger.rankPercent !== undefined && { rankPercent: trigger.rankPercent }),
    ...(trigger.levelKey !== undefined && { levelKey: trigger.levelKey }),
    userAttributes,
    eventAttributes: eventAttributes ?? [],
  };
}

/** Whether an award's total does not continue that of the award before it, the next one in the list. */
const isJump = ({ awarded = 0, total = 0 }: Award, at: number, awards: readonly Award[]): boolean => {
  const before = awards[at + 1];
  return before !== undefined && (before.total ?? 0) + awarded !== total;
};

function Ledger({ id, system, name, named }: { id: string; system: string; name: string; named: Named }) {
  const points = useQuery({
    queryKey: ['user', id, 'points', system],
    queryFn: () =>
      answer(
        application.GET('/v1/users/{id}/points/{key}', {
          params: { path: { id, key: system }, query: { awards: AWARDS } },
        }),
      ),
  });
  if (points.isError)
    return (
      <Panel title={name}>
        <Failed error={points.error} />
      </Panel>
    );
  if (points.isPending) return null;
  const { total, balance, level, maxPoints, awards } = points.data;
  return (
    <Panel
      title={
        <>
          {name} <span className="ml-2 font-normal text-muted">points</span>
        </>
      }
      actions={level !== null && <Tag tone="good">{level.name}</Tag>}
    >
      <p className="mb-2">
        <span className="text-lg font-semibold">{number(total)}</span>
        {maxPoints !== null && <span className="text-muted"> of {number(maxPoints)} at most</span>}
        {balance !== undefined && <span className="text-muted">, {number(balance)} left to spend</span>}
      </p>
      {awards.length === 0 ? (
        <p className="text-muted">No points were awarded yet.</p>
      ) : (
        <div
          role="region"
          aria-label={`Awards of ${name}`}
          // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- it scrolls, and the keyboard must be able to
          tabIndex={0}
          className="max-h-72 overflow-y-auto"
        >
          <table className="w-full text-left">
            <thead className="sticky top-0 bg-surface text-xs text-muted">
              <tr>
                <th scope="col" className="py-1 pr-3 font-medium">
                  When
                </th>
                <th scope="col" className="py-1 pr-3 font-medium">
                  Why
                </th>
                <th scope="col" className="py-1 pr-3 text-right font-medium">
                  Points
                </th>
                <th scope="col" className="py-1 text-right font-medium">
                  Total
                </th>
              </tr>
            </thead>
            <tbody>
              {awards.map((award, index) => (
                <tr key={award.id ?? index} className="border-t border-line">
                  <td className="py-1 pr-3 text-muted md:whitespace-nowrap" title={moment(award.date)}>
                    {ago(award.date)}
                  </td>
                  <td className="py-1 pr-3 break-words [&>span]:whitespace-normal">
                    {award.trigger ? causeText(ruleOf(award.trigger, named)) : '–'}{' '}
                    {award.boosts?.map((boost) => (
                      <Tag key={boost.id}>
                        {boost.name} ×{boost.multiplier}
                      </Tag>
                    ))}
                  </td>
                  <td className="py-1 pr-3 text-right">
                    {(award.awarded ?? 0) > 0 ? '+' : ''}
                    {number(award.awarded ?? 0)}
                  </td>
                  <td className="py-1 text-right">{number(award.total ?? 0)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      {awards.some(isJump) && (
        <p className="mt-2 text-muted">
          Totals are those at the time. They jump where two users were merged, points were imported, or an award was
          recomputed later.
        </p>
      )}
      {balance !== undefined && <UserSpendings id={id} system={system} name={name} />}
    </Panel>
  );
}
