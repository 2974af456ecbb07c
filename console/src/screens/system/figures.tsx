import { useQuery } from '@tanstack/react-query';
import { useFeed } from '../../api/feed.ts';
import { serverMetricsQuery } from '../../api/metrics.ts';
import { activityQuery } from '../../api/queries.ts';
import { number } from '../../ui/format.ts';

/** The operator's figures. Received events are those of the tenant on the UTC day. */
export function Figures() {
  const { perSecond } = useFeed();
  const activity = useQuery(activityQuery).data;
  const server = useQuery(serverMetricsQuery).data?.values;
  const figures: [name: string, value: number | undefined][] = [
    ['Events per second', perSecond < 10 ? Math.round(perSecond * 10) / 10 : Math.round(perSecond)],
    ['Events received today', activity?.days.at(-1)?.eventsReceived],
    ['Waiting to be stored', server?.get('laurel_outbox_entries')],
    ['Dead letters', server?.get('laurel_dead_letters')],
  ];
  return (
    <dl className="grid grid-cols-2 gap-2 md:grid-cols-4">
      {figures.map(([name, value]) => (
        <div key={name} className="rounded-lg border border-line bg-surface px-3 py-2">
          <dt className="truncate text-xs text-muted">{name}</dt>
          <dd className="text-lg font-semibold">{value === undefined ? '–' : number(value)}</dd>
        </div>
      ))}
    </dl>
  );
}
