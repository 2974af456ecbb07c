import { queryOptions, useQuery } from '@tanstack/react-query';
import { today } from '../ui/format.ts';
import { setServerTime } from '../ui/server-time.ts';
import { answer } from './answer.ts';
import { admin } from './client.ts';

const TEST_CLOCK_MS = 3_000;
const REAL_CLOCK_MS = 60_000;

/** The server's time; polled often while a test clock may be set. */
export const clockQuery = queryOptions({
  queryKey: ['clock'],
  queryFn: async () => {
    const { now, testClock } = await answer(admin.GET('/v1/session'));
    setServerTime({ now, testClock });
    return { now, testClock };
  },
  refetchInterval: ({ state }) => (state.data?.testClock === true ? TEST_CLOCK_MS : REAL_CLOCK_MS),
});

/** The server's day, `YYYY-MM-DD` in UTC. Renders again when the server's time is read. */
export function useToday(): string {
  useQuery(clockQuery);
  return today();
}
