import { useQuery } from '@tanstack/react-query';
import { Link, type LinkProps } from '@tanstack/react-router';
import { serverMetricsQuery } from '../../api/metrics.ts';
import { activityQuery } from '../../api/queries.ts';
import { number } from '../../ui/format.ts';

function Figure({ to, name, value }: { to: NonNullable<LinkProps['to']>; name: string; value: number | undefined }) {
  return (
    <Link to={to} className="rounded-lg border border-line bg-surface px-3 py-2 hover:bg-hover">
      <span className="block truncate text-xs text-muted">{name}</span>
      <span className="text-lg font-semibold">{value === undefined ? '–' : number(value)}</span>
    </Link>
  );
}

/** The most important figures. Active users and received events are those of the UTC day. */
export function Figures({ perSecond }: { perSecond: number }) {
  const activity = useQuery(activityQuery).data;
  const today = activity?.days.at(-1);
  const server = useQuery(serverMetricsQuery).data?.values;
  const rounded = perSecond < 10 ? Math.round(perSecond * 10) / 10 : Math.round(perSecond);
  return (
    <div className="grid grid-cols-2 gap-2 sm:grid-cols-3 lg:grid-cols-6">
      <Figure to="/metrics" name="Events per second" value={rounded} />
      <Figure to="/metrics" name="Events received today" value={today?.eventsReceived} />
      <Figure to="/users" name="Active users today" value={today?.activeUsers} />
      <Figure to="/users" name="Total users" value={activity?.users} />
      <Figure to="/system" name="Waiting to be stored" value={server?.get('laurel_outbox_entries')} />
      <Figure to="/system" name="Dead letters" value={server?.get('laurel_dead_letters')} />
    </div>
  );
}
