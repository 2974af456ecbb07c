import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useSay } from '../ui/toasts.tsx';

/**
 * Something that changes what the API holds. When it is done everything that is shown is read again, and `done` is said; what
 * goes wrong is said as well, unless the caller shows it where it belongs.
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
  return useMutation({
    mutationFn: run,
    onSuccess: async () => {
      if (done !== undefined) say(done);
      await queries.invalidateQueries({ predicate: ({ queryKey }) => queryKey[0] !== 'session' });
    },
    onError: (error) => {
      if (!quiet) say(error.message, 'problem');
    },
  });
}
