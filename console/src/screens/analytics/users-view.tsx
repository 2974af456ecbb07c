import { useQuery } from '@tanstack/react-query';
import { useAsked } from './controls.tsx';
import { Figures, Read, TimeChart } from './parts.tsx';
import { usersQuery } from './queries.ts';

const mean = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length);

export function UsersView() {
  const users = useQuery(usersQuery(useAsked().query));
  return (
    <Read query={users}>
      {({ days, weeks, months, ...all }) => (
        <>
          <Figures
            of={[
              { name: 'Total users', now: all.users },
              { name: 'New users', now: all.newUsers, before: all.newUsersBefore },
              {
                name: 'Active users per day, on average',
                now: mean(days.map(({ activeUsers }) => activeUsers)),
                before: mean(days.map(({ activeUsersBefore }) => activeUsersBefore)),
              },
              { name: 'Active users in the last month', now: months.at(-1)?.activeUsers ?? 0 },
            ]}
          />
          <TimeChart
            title="Active users per day"
            file={`active-users-per-day-${all.from}-${all.to}`}
            dates={days.map(({ date }) => date)}
            values={days.map(({ activeUsers }) => activeUsers)}
            before={days.map(({ activeUsersBefore }) => activeUsersBefore)}
            rows={days}
            note="Users who sent at least one event on the UTC day. The dashed line is the previous period."
          />
          <div className="grid gap-4 md:grid-cols-2">
            <TimeChart
              title="New users per day"
              file={`new-users-${all.from}-${all.to}`}
              dates={days.map(({ date }) => date)}
              values={days.map(({ newUsers }) => newUsers)}
              before={days.map(({ newUsersBefore }) => newUsersBefore)}
              rows={days}
            />
            <TimeChart
              title="Active users per week"
              file={`active-users-per-week-${all.from}-${all.to}`}
              dates={weeks.map(({ date }) => date)}
              values={weeks.map(({ activeUsers }) => activeUsers)}
              rows={weeks}
              note="Whole weeks from Monday. Each user counts once a week."
            />
            <TimeChart
              title="Active users per month"
              file={`active-users-per-month-${all.from}-${all.to}`}
              dates={months.map(({ date }) => date)}
              values={months.map(({ activeUsers }) => activeUsers)}
              rows={months}
              note="Whole months. Each user counts once a month."
            />
          </div>
        </>
      )}
    </Read>
  );
}
