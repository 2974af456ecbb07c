import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { Pencil } from 'lucide-react';
import { buttonLook } from '../../ui/button.tsx';
import { counted, number } from '../../ui/format.ts';
import { useAsked } from './controls.tsx';
import { Distribution, Figures, Read, Saved, TimeChart } from './parts.tsx';
import { streaksQuery } from './queries.ts';

const CHARTS = [
  { of: 'extended', before: 'extendedBefore', title: 'Extended per day' },
  { of: 'lost', before: 'lostBefore', title: 'Lost per day' },
  { of: 'frozen', before: 'frozenBefore', title: 'Freezes used per day' },
] as const;

export function StreaksView() {
  const streaks = useQuery(streaksQuery(useAsked().query));
  return (
    <Read query={streaks}>
      {({ days, lengths, sampled, from, to }) => {
        const sum = (of: keyof Omit<(typeof days)[number], 'date'>): number =>
          days.reduce((total, day) => total + day[of], 0);
        return (
          <>
            <Link to="/streaks" className={`${buttonLook()} self-start max-md:h-11`}>
              <Pencil size={14} aria-hidden /> Rule and freezes
            </Link>
            <Figures
              of={CHARTS.map(({ of, before, title }) => ({
                name: title.replace(' per day', ''),
                now: sum(of),
                before: sum(before),
              }))}
            />
            <div className="grid gap-4 md:grid-cols-2">
              {CHARTS.map(({ of, before, title }) => (
                <TimeChart
                  key={of}
                  title={title}
                  file={`streaks-${of}-${from}-${to}`}
                  of={of}
                  before={before}
                  rows={days}
                />
              ))}
              <Saved
                title="Users by length of their streak"
                file="streak-lengths"
                rows={lengths}
                note={`Current figures of ${counted(sampled, 'user')}: all of them, or a sample of 1,000.`}
              >
                <Distribution
                  rows={lengths.map((range) => ({
                    name:
                      range.to === null
                        ? `${number(range.from)} or more`
                        : range.from === range.to
                          ? number(range.from)
                          : `${number(range.from)} to ${number(range.to)}`,
                    count: range.users,
                  }))}
                />
              </Saved>
            </div>
          </>
        );
      }}
    </Read>
  );
}
