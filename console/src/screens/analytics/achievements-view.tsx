import { useQuery } from '@tanstack/react-query';
import { EditLink } from '../../resource/edit-link.tsx';
import { number, percent } from '../../ui/format.ts';
import { duration } from '../../ui/measures.ts';
import { useAsked, useShown } from './controls.tsx';
import { Distribution, FigureTable, Figures, Read, Saved, TimeChart } from './parts.tsx';
import { achievementQuery, achievementsQuery } from './queries.ts';
import { Back, Chosen } from './resource-link.tsx';

export function AchievementsView() {
  const { id } = useShown();
  return id === undefined ? <AllAchievements /> : <OneAchievement id={id} />;
}

const shareOf = (holders: number, users: number): string => (users === 0 ? '–' : percent(holders / users));

function AllAchievements() {
  const achievements = useQuery(achievementsQuery(useAsked().query));
  return (
    <Read query={achievements}>
      {({ achievements: all, users, days, from, to }) => (
        <>
          <TimeChart
            title="Completed per day"
            file={`completed-${from}-${to}`}
            of="completed"
            before="completedBefore"
            rows={days}
            note="By UTC day. The dashed line is the previous period."
          />
          <Saved
            title="Achievements"
            file={`achievements-${from}-${to}`}
            rows={all.map((achievement) => ({ ...achievement, users }))}
            note="Half of those who completed an achievement in this period needed at most the time shown, since they were first seen. It is within 6%. Holders are all users who have it now."
          >
            <FigureTable
              label="Achievements"
              head={['Achievement', 'Completed', 'Before', 'Holders', 'Share of users', 'Median time']}
              rows={all.map(({ id, name, completed, completedBefore, holders, medianSeconds }) => ({
                key: id,
                cells: [
                  <Chosen key="name" id={id} name={name} />,
                  number(completed),
                  number(completedBefore),
                  number(holders),
                  shareOf(holders, users),
                  medianSeconds === null ? '–' : duration(medianSeconds),
                ],
              }))}
            />
          </Saved>
        </>
      )}
    </Read>
  );
}

function OneAchievement({ id }: { id: string }) {
  const achievement = useQuery(achievementQuery(id, useAsked().query));
  return (
    <Read query={achievement}>
      {({ name, days, durations, progress, sampled, from, to, ...all }) => (
        <>
          <Back to="Achievements" name={name}>
            <EditLink to="/achievements" id={id} />
          </Back>
          <Figures
            of={[
              { name: 'Completed', now: all.completed, before: all.completedBefore },
              { name: 'Holders', now: all.holders },
              { name: 'Users', now: all.users },
            ]}
          />
          <TimeChart
            title="Completed per day"
            file={`completed-${from}-${to}`}
            of="completed"
            before="completedBefore"
            rows={days}
          />
          <div className="grid gap-4 md:grid-cols-2">
            <Saved
              title="Time to complete"
              file={`time-to-complete-${from}-${to}`}
              rows={durations}
              note="Since the user was first seen, in whole weeks of the period."
            >
              <Distribution rows={byUnit(durations)} />
            </Saved>
            <Saved
              title="Users on the way"
              file={`progress-${from}-${to}`}
              rows={progress ?? []}
              note={`Users without the achievement, of ${number(sampled)} looked at: all, or 1,000 of them.`}
            >
              {progress === null ? (
                <p className="text-muted">No number completes this achievement.</p>
              ) : (
                <Distribution
                  rows={progress.map((tenth) => ({
                    name: `${percent(tenth.from)} to ${percent(tenth.to)}`,
                    count: tenth.users,
                  }))}
                />
              )}
            </Saved>
          </div>
        </>
      )}
    </Read>
  );
}

const SPANS = [
  ['Less than a minute', 60],
  ['Less than an hour', 3_600],
  ['Less than a day', 86_400],
  ['Less than a week', 604_800],
  ['Less than a month', 2_592_000],
  ['Less than a year', 31_536_000],
  ['A year or more', Infinity],
] as const;

const byUnit = (durations: readonly { seconds: number; completed: number }[]) =>
  SPANS.map(([name, end], index) => {
    const begin = SPANS[index - 1]?.[1] ?? 0;
    const own = durations.filter(({ seconds }) => seconds >= begin && seconds < end);
    return { name, count: own.reduce((sum, { completed }) => sum + completed, 0) };
  });
