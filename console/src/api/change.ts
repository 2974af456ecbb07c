import { useMutation, useQueryClient, type MutateOptions } from '@tanstack/react-query';
import { useEffect, useRef, useState } from 'react';
import { useSay } from '../ui/toasts.tsx';
import { curlOf } from './client.ts';

interface UseChangeProps<Input = void, Output = unknown> {
  run: (input: Input) => Promise<Output>;
  done?: string;
  quiet?: boolean;
}

/**
 * A change through the API. When it succeeds, `done` is shown, the caller's `onSuccess` runs, and all queries are read again. It is
 * pending until they are, and then `onRead` runs: what is on the screen may be older than the change until then. An error is shown
 * too, unless `quiet`: then the caller shows it beside its cause while it is on the screen. Until a change has ended, another one is
 * ignored. `curl` makes the command that sends the same request.
 */
export function useChange<Input = void, Output = unknown>({ run, done, quiet = false }: UseChangeProps<Input, Output>) {
  const queries = useQueryClient();
  const say = useSay();
  const isShown = useRef(false);
  useEffect(() => {
    isShown.current = true;
    return () => {
      isShown.current = false;
    };
  }, []);
  // A second click may come before the button is drawn as disabled.
  const isRunning = useRef(false);
  const [reading, setReading] = useState<Promise<void> | null>(null);
  const latest = useRef(reading);
  const mutation = useMutation({
    mutationFn: run,
    onSuccess: () => {
      if (done !== undefined) say(done);
      const read = queries.invalidateQueries({ predicate: ({ queryKey }) => queryKey[0] !== 'session' });
      latest.current = read;
      setReading(read);
      void read.then(() => setReading((current) => (current === read ? null : current)));
    },
    onError: (error) => {
      if (!quiet || !isShown.current) say(error.message, 'problem');
    },
  });
  const mutate = (
    input: Input,
    { onRead, ...options }: MutateOptions<Output, Error, Input> & { onRead?: () => void } = {},
  ): void => {
    if (isRunning.current) return;
    isRunning.current = true;
    mutation.mutate(input, {
      ...options,
      onSuccess: (...ended) => {
        options.onSuccess?.(...ended);
        if (onRead !== undefined) void latest.current?.then(onRead);
      },
      onSettled: (...ended) => {
        isRunning.current = false;
        options.onSettled?.(...ended);
      },
    });
  };
  /** Forgets the change: how it ends is no longer shown. */
  const reset = (): void => {
    isRunning.current = false;
    setReading(null);
    mutation.reset();
  };
  const isPending = mutation.isPending || reading !== null;
  return { ...mutation, isPending, mutate, reset, curl: (input: Input) => curlOf(() => run(input)) };
}
