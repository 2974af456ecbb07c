import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { eventCurl } from '../../api/bodies.ts';
import { activityQuery, metricsQuery } from '../../api/queries.ts';
import { Empty } from '../../ui/parts.tsx';

/** The next steps in an empty installation. */
export function FirstSteps() {
  const metrics = useQuery(metricsQuery).data;
  const activity = useQuery(activityQuery).data;
  if (metrics?.length === 0)
    return (
      <Empty title="Set up your first metric" curl={eventCurl()}>
        <Link to="/metrics" className="text-accent underline">
          Create a metric
        </Link>{' '}
        for something that your users do. Then create an{' '}
        <Link to="/achievements" className="text-accent underline">
          achievement
        </Link>{' '}
        for it, and send the first event:
      </Empty>
    );
  if (metrics === undefined || activity?.users !== 0) return null;
  return (
    <Empty title="No events yet" curl={eventCurl(metrics[0]!.key)}>
      Send the first event. It appears here within a second:
    </Empty>
  );
}
