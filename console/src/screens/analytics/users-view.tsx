import { useQuery } from '@tanstack/react-query';
import { counted, dateText, number, periodText, type CalendarUnit } from '../../ui/format.ts';
import { useAsked } from './controls.tsx';
import { Figures, Read, TimeChart } from './parts.tsx';
import { usersQuery } from './queries.ts';

const mean = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length);

/** `Nov 2026`, and `Nov 2026, counted in part`. */
const monthName = (month: Period | undefined): string =>
  month === undefined
    ? 'the month'
    : `${periodText(Date.parse(month.date), 'month')}${month.isPartial ? ', counted in part' : ''}`;

/** Says that nobody was active on most days of the previous period: a comparison with it would mislead. */
function quietBefore(days: readonly { activeUsersBefore: number }[]): string | undefined {
  const active = days.filter(({ activeUsersBefore }) => activeUsersBefore > 0).length;
  return active === 0 || active * 2 >= days.length
    ? undefined
    : `In the previous period, users were active on ${number(active)} of ${counted(days.length, 'day')}`;
}

type Period = { date: string; activeUsers: number; isPartial: boolean };

/** Names the periods in which a segment was counted only from a later day on. */
function partialNote(periods: readonly Period[], unit: CalendarUnit, countedFrom: string | null): string {
  const partial = periods.filter(({ isPartial }) => isPartial);
  if (partial.length === 0) return '';
  const names = partial.map(({ date }) => periodText(Date.parse(date), unit)).join(', ');
  return ` Counted only in part: ${names}. The segment is counted from ${countedFrom === null ? 'its first active user' : dateText(Date.parse(countedFrom))} on.`;
}

export function UsersView() {
  const users = useQuery(usersQuery(useAsked().query));
  return (
    <Read query={users}>
      {({ days, weeks, months, countedFrom, ...all }) => (
        <>
          <Figures
            of={[
              { name: 'Total users', now: all.users },
              { name: 'New users', now: all.newUsers, before: all.newUsersBefore, note: quietBefore(days) },
              {
                name: 'Active users per day, on average',
                now: mean(days.map(({ activeUsers }) => activeUsers)),
                before: mean(days.map(({ activeUsersBefore }) => activeUsersBefore)),
                note: quietBefore(days),
              },
              {
                name: `Active users in ${monthName(months.at(-1))}`,
                now: months.at(-1)?.activeUsers ?? 0,
              },
            ]}
          />
          <TimeChart
            title="Active users per day"
            file={`active-users-per-day-${all.from}-${all.to}`}
            of="activeUsers"
            before="activeUsersBefore"
            rows={days}
            note="Users with at least one event on the UTC day. The dashed line is the previous period."
          />
          <div className="grid gap-4 md:grid-cols-2">
            <TimeChart
              title="New users per day"
              file={`new-users-${all.from}-${all.to}`}
              of="newUsers"
              before="newUsersBefore"
              rows={days}
            />
            <TimeChart
              title="Active users per week"
              file={`active-users-per-week-${all.from}-${all.to}`}
              of="activeUsers"
              rows={weeks}
              unit="week"
              note={`Whole weeks from Monday. Each user counts once a week.${partialNote(weeks, 'week', countedFrom)}`}
            />
            <TimeChart
              title="Active users per month"
              file={`active-users-per-month-${all.from}-${all.to}`}
              of="activeUsers"
              rows={months}
              unit="month"
              note={`Whole months. Each user counts once a month.${partialNote(months, 'month', countedFrom)}`}
            />
          </div>
        </>
      )}
    </Read>
  );
}
