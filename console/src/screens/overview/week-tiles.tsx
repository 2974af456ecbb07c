import { useQueries, useQuery } from '@tanstack/react-query';
import {
  achievementsQuery as configuredAchievementsQuery,
  metricsQuery as configuredQuery,
} from '../../api/queries.ts';
import { dateText, dayAfter, number, percent } from '../../ui/format.ts';
import {
  achievementsQuery,
  metricsQuery,
  pointsQuery,
  retentionQuery,
  streaksQuery,
  usersQuery,
  type Retention,
} from '../analytics/queries.ts';
import { Tile, type Compared } from './tile.tsx';
import { POLLED, useRanges, WEEK_DAYS } from './week-ranges.ts';

/** Metrics that are shown until the team picks some. */
const UNPICKED_METRICS = 3;

/** Compares a figure of the answers for the three ranges; `undefined` until all are there. */
function comparedOf<T>(
  [week, yesterday, weekBefore]: readonly (T | undefined)[],
  of: (answer: T) => { now: number; before: number },
): Compared | undefined {
  if (week === undefined || yesterday === undefined || weekBefore === undefined) return undefined;
  return { week: of(week), yesterday: { now: of(yesterday).now, before: of(weekBefore).now } };
}

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
const mean = (values: readonly number[]): number => (values.length === 0 ? 0 : sum(values) / values.length);

/** Compares the days of a week with their counterparts in the week before. */
function comparedDays<D>(
  days: readonly D[] | undefined,
  { now, before, over = sum }: { now: (day: D) => number; before: (day: D) => number; over?: typeof sum },
): Compared | undefined {
  const yesterday = days?.at(-1);
  if (days === undefined || yesterday === undefined) return undefined;
  return {
    week: { now: over(days.map(now)), before: over(days.map(before)) },
    yesterday: { now: now(yesterday), before: before(yesterday) },
  };
}

/** Each tile leads to its analysis. */
export const WeekTiles = () => (
  <div className="grid grid-cols-2 gap-2 md:grid-cols-3 lg:grid-cols-4">
    <UserTiles />
    <MetricTiles />
    <StreakTiles />
    <AchievementTiles />
    <SpendingTiles />
  </div>
);

function UserTiles() {
  const { week } = useRanges();
  const days = useQuery({ ...usersQuery(week), ...POLLED }).data?.days;
  // Active users of several days do not add up, since a user may be active on each.
  const active = comparedDays(days, {
    now: (day) => day.activeUsers,
    before: (day) => day.activeUsersBefore,
    over: (values) => Math.round(mean(values) * 10) / 10,
  });
  const fresh = comparedDays(days, { now: (day) => day.newUsers, before: (day) => day.newUsersBefore });
  const cohorts = useQuery({ ...retentionQuery({ from: dayAfter(week.to, -27), to: week.to }), ...POLLED }).data
    ?.cohorts;
  return (
    <>
      <Tile name="Active users per day" shown={active} search={{ view: 'users', ...week }} />
      <Tile name="New users" shown={fresh} search={{ view: 'users', ...week }} />
      <Tile
        name="Came back in the next week"
        shown={cohorts && cameBack(cohorts, dayAfter(week.to, 1))}
        search={{ view: 'retention' }}
      />
    </>
  );
}

/** How many of the users first seen in a week came back in the next, of the two latest weeks for which that is over. */
function cameBack(cohorts: Retention['cohorts'], today: string): { figure: string; lines: string[] } {
  const over = cohorts.filter(({ date, users }) => users > 0 && dayAfter(date, 2 * WEEK_DAYS) <= today);
  const [before, now] = [over.at(-2), over.at(-1)];
  const shareOf = ({ users, weeks }: Retention['cohorts'][number]): string => percent((weeks[1] ?? 0) / users);
  if (now === undefined) return { figure: '–', lines: ['Known two weeks after the first users'] };
  return {
    figure: shareOf(now),
    lines: [
      `Of ${number(now.users)} first seen in the week of ${dateText(Date.parse(now.date))}`,
      before === undefined ? 'No users in the week before' : `${shareOf(before)} in the week before`,
    ],
  };
}

function MetricTiles() {
  const { week, ranges } = useRanges();
  const configured = useQuery(configuredQuery).data ?? [];
  const answers = useQueries({ queries: ranges.map((range) => ({ ...metricsQuery(range), ...POLLED })) });
  const picked = configured.filter(({ onOverview }) => onOverview === true);
  const shown = picked.length > 0 ? picked : configured.slice(0, UNPICKED_METRICS);
  return shown.map(({ id, name, units }) => (
    <Tile
      key={id}
      name={name}
      unit={units}
      shown={comparedOf(
        answers.map(({ data }) => data),
        ({ metrics }) => {
          const { value = 0, valueBefore = 0 } = metrics.find((metric) => metric.id === id) ?? {};
          return { now: value, before: valueBefore };
        },
      )}
      search={{ view: 'metrics', id, ...week }}
    />
  ));
}

function StreakTiles() {
  const { week } = useRanges();
  const days = useQuery({ ...streaksQuery(week), ...POLLED }).data?.days;
  const search = { view: 'streaks', ...week } as const;
  return (
    <>
      <Tile
        name="Streaks extended"
        shown={comparedDays(days, { now: (day) => day.extended, before: (day) => day.extendedBefore })}
        search={search}
      />
      <Tile
        name="Streaks lost"
        shown={comparedDays(days, { now: (day) => day.lost, before: (day) => day.lostBefore })}
        search={search}
      />
    </>
  );
}

function AchievementTiles() {
  const { week, ranges } = useRanges();
  const configured = useQuery(configuredAchievementsQuery).data ?? [];
  const answers = useQueries({ queries: ranges.map((range) => ({ ...achievementsQuery(range), ...POLLED })) });
  const quests = configured.filter(({ repeat, startDate, endDate }) => repeat ?? startDate ?? endDate);
  const completed = (ids: ReadonlySet<string> | null) =>
    comparedOf(
      answers.map(({ data }) => data),
      ({ achievements }) => {
        const own = achievements.filter(({ id }) => ids === null || ids.has(id));
        return {
          now: sum(own.map((achievement) => achievement.completed)),
          before: sum(own.map((achievement) => achievement.completedBefore)),
        };
      },
    );
  const [only] = quests.length === 1 ? quests : [];
  return (
    <>
      <Tile name="Achievements completed" shown={completed(null)} search={{ view: 'achievements', ...week }} />
      {quests.length > 0 && (
        <Tile
          name={only === undefined ? 'Quests completed' : `Quests completed: ${only.name}`}
          shown={completed(new Set(quests.map(({ id }) => id)))}
          search={{ view: 'achievements', ...(only !== undefined && { id: only.id }), ...week }}
        />
      )}
    </>
  );
}

/** A tile for each points system of which users spent something in one of the two weeks. */
function SpendingTiles() {
  const { week, ranges } = useRanges();
  const answers = useQueries({ queries: ranges.map((range) => ({ ...pointsQuery(range), ...POLLED })) }).map(
    ({ data }) => data,
  );
  const spending = answers[0]?.systems.filter(({ spent, spentBefore }) => spent > 0 || spentBefore > 0) ?? [];
  return spending.map(({ id, name }) => (
    <Tile
      key={id}
      name={`${name} spent`}
      shown={comparedOf(answers, ({ systems }) => {
        const { spent = 0, spentBefore = 0 } = systems.find((system) => system.id === id) ?? {};
        return { now: spent, before: spentBefore };
      })}
      search={{ view: 'points', id, ...week }}
    />
  ));
}
