import { useQuery } from '@tanstack/react-query';
import { clockQuery } from '../api/clock.ts';
import { moment } from '../ui/format.ts';

/** Shows that a test clock is on, and its time. */
export function TestClock() {
  const clock = useQuery(clockQuery).data;
  if (clock?.testClock !== true) return null;
  return (
    <section aria-label="Test clock" className="border-b border-line bg-warn-soft px-4 py-1.5 text-warn md:px-6">
      The test clock is on. The server’s time is <strong>{moment(clock.now)}</strong>.
    </section>
  );
}
