import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useSay } from '../ui/toasts.tsx';
import { curlOf } from './client.ts';

/**
 * A change through the API. When it succeeds, all queries are read again and `done` is shown. An error is shown too, unless
 * `quiet`: then the caller shows it beside its cause. `curl` makes the command that sends the same request.
 */
export function useChange<Input = void, Output = unknown>({
  run,
  done,
  quiet = false,
}: {
  run: (input: Input) => Promise<Output>;
  done?: string;
  quiet?: boolean;
}) {
  const queries = useQueryClient();
  const say = useSay();
  const mutation = useMutation({
    mutationFn: run,
    onSuccess: async () => {
      if (done !== undefined) say(done);
      await queries.invalidateQueries({ predicate: ({ queryKey }) => queryKey[0] !== 'session' });
    },
    onError: (error) => {
      if (!quiet) say(error.message, 'problem');
    },
  });
  return { ...mutation, curl: (input: Input) => curlOf(() => run(input)) };
}
