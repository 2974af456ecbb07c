import type { Streak } from 'laurel-client';
import { useStreak } from 'laurel-client/react';
import { Panel } from './panel.tsx';

const WEEKDAYS = ['Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday', 'Sunday'];
const DAYS = 28;
const MEANING = { met: 'done', freeze: 'saved by a freeze', pause: 'paused', rest: 'day off', open: 'nothing yet' };
const SIGN = { met: '✓', freeze: '❄', pause: 'Ⅱ', rest: '·', open: '' };

interface Day {
  date: string;
  state: keyof typeof MEANING;
}

/** The days of a daily streak. The first day of the history only shows whether the second one extended the streak. */
function daysOf({ streakHistory }: Streak): Day[] {
  return streakHistory.slice(1).map(({ periodStart, length, usedFreeze, usedPause }, index) => {
    const before = streakHistory[index]!.length;
    const isToday = index === streakHistory.length - 2;
    const isKept = length > 0 && !isToday ? 'rest' : 'open';
    const state = usedFreeze ? 'freeze' : usedPause ? 'pause' : length > before ? 'met' : isKept;
    return { date: periodStart, state };
  });
}

/** Days in weeks from Monday; undefined before the first day. */
function weeksOf(days: Day[]): (Day | undefined)[][] {
  const first = days[0] === undefined ? 0 : (new Date(days[0].date).getUTCDay() + 6) % 7;
  const cells = [...Array<undefined>(first).fill(undefined), ...days];
  return Array.from({ length: Math.ceil(cells.length / 7) }, (_, week) => cells.slice(week * 7, week * 7 + 7));
}

const longDate = (date: string) =>
  new Date(date).toLocaleDateString('en', { day: 'numeric', month: 'long', timeZone: 'UTC' });

/** The last four weeks of the user's streak. */
export function StreakCalendar() {
  const streak = useStreak({ historyPeriods: DAYS + 1 });
  return (
    <Panel title="Your streak" loaded={streak}>
      {(data) => {
        const days = daysOf(data);
        const today = days.at(-1);
        return (
          <>
            <p role="status" className="streak">
              <strong>{data.length}</strong> {data.length === 1 ? 'day' : 'days'} in a row
              {data.length > 0 && today?.state === 'open' && '. Practise today to keep it.'}
              {data.freezes ? `, ${data.freezes} to freeze` : ''}
            </p>
            <table className="calendar">
              <thead>
                <tr>
                  {WEEKDAYS.map((name) => (
                    <th key={name} scope="col">
                      <abbr title={name}>{name.slice(0, 2)}</abbr>
                    </th>
                  ))}
                </tr>
              </thead>
              <tbody>
                {weeksOf(days).map((week, index) => (
                  <tr key={week.find((day) => day)?.date ?? index}>
                    {week.map((day, weekday) => (
                      <td
                        key={weekday}
                        data-state={day?.state}
                        aria-current={day && day === today ? 'date' : undefined}
                      >
                        {day && (
                          <>
                            <time dateTime={day.date} aria-hidden="true">
                              {Number(day.date.slice(8))}
                            </time>
                            <span aria-hidden="true">{SIGN[day.state]}</span>
                            <span className="only-read">
                              {longDate(day.date)}: {MEANING[day.state]}
                            </span>
                          </>
                        )}
                      </td>
                    ))}
                  </tr>
                ))}
              </tbody>
            </table>
          </>
        );
      }}
    </Panel>
  );
}
