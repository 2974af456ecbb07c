import { useQuery } from '@tanstack/react-query';
import { useMemo, useState } from 'react';
import { answer } from '../../api/answer.ts';
import { useToday } from '../../api/clock.ts';
import { application } from '../../api/client.ts';
import { Chart } from '../../ui/chart.tsx';
import { dayAfter, number } from '../../ui/format.ts';
import { Failed, Panel } from '../../ui/parts.tsx';

const DAYS = 30;

export function UserTotals({ id }: { id: string }) {
  const totals = useQuery({
    queryKey: ['user', id, 'metrics'],
    queryFn: () => answer(application.GET('/v1/users/{id}/metrics', { params: { path: { id } } })),
  });
  const [chosen, setChosen] = useState<string | null>(null);
  const shown = totals.data?.find(({ current }) => current !== 0) ?? totals.data?.[0];
  const key = chosen ?? shown?.key;
  return (
    <Panel title="Totals">
      {totals.isError && <Failed error={totals.error} />}
      {totals.data?.length === 0 && <p className="text-muted">No metrics yet.</p>}
      {totals.data && totals.data.length > 0 && (
        <div className="flex flex-col gap-3">
          <ul className="flex flex-wrap gap-2">
            {totals.data.map((metric) => (
              <li key={metric.key}>
                <button
                  type="button"
                  aria-pressed={metric.key === key}
                  onClick={() => setChosen(metric.key)}
                  className="flex flex-col rounded-md border border-line px-3 py-1.5 text-left hover:bg-hover aria-pressed:border-accent aria-pressed:bg-accent-soft"
                >
                  <span className="text-xs text-muted">{metric.name}</span>
                  <span className="text-base font-semibold">{number(metric.current)}</span>
                </button>
              </li>
            ))}
          </ul>
          {key !== undefined && <DailyChart id={id} metric={key} />}
        </div>
      )}
    </Panel>
  );
}

/** Daily sums of a metric. */
function DailyChart({ id, metric }: { id: string; metric: string }) {
  const endDate = useToday();
  const days = useQuery({
    queryKey: ['user', id, 'metrics', metric, endDate],
    queryFn: () =>
      answer(
        application.GET('/v1/users/{id}/metrics/{key}/event-summary', {
          params: {
            path: { id, key: metric },
            query: { aggregation: 'daily', startDate: dayAfter(endDate, 1 - DAYS), endDate },
          },
        }),
      ),
  });
  const [x, y] = useMemo(
    () => [
      (days.data ?? []).map(({ date }) => Date.parse(`${date}T12:00:00Z`) / 1000),
      (days.data ?? []).map(({ change }) => change),
    ],
    [days.data],
  );
  if (days.isError) return <Failed error={days.error} />;
  if (x.length === 0) return null;
  return <Chart bars label={`Added per day, last ${DAYS} days`} x={x} y={y} />;
}
