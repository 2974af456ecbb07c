import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { activityQuery, metricsQuery } from '../../api/queries.ts';
import { Empty } from '../../ui/parts.tsx';

/** The Application API, where it is by default: the console does not know its port. */
const eventLine = (
  metric: string,
): string => `curl -X POST ${location.protocol}//${location.hostname}:8080/v1/metrics/${metric}/event \\
  -H "X-API-KEY: $ADMIN_KEY" -H "Content-Type: application/json" \\
  -d '{"user":{"id":"ada"},"value":1}'`;

/** What to do next, as long as nothing has happened. */
export function FirstSteps() {
  const metrics = useQuery(metricsQuery).data;
  const activity = useQuery(activityQuery).data;
  if (metrics?.length === 0)
    return (
      <Empty title="Nothing is configured yet" curl={eventLine('<metric>')}>
        <Link to="/metrics" className="text-accent underline">
          Create a metric
        </Link>
        , then an{' '}
        <Link to="/achievements" className="text-accent underline">
          achievement
        </Link>{' '}
        on it, and send the first event:
      </Empty>
    );
  if (metrics === undefined || activity?.users !== 0) return null;
  return (
    <Empty title="No user has sent an event yet" curl={eventLine(metrics[0]!.key)}>
      Send the first one; it appears here within a second:
    </Empty>
  );
}
