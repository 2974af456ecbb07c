import { useMutation, useQueryClient, type MutateOptions } from '@tanstack/react-query';
import { useEffect, useRef } from 'react';
import { useSay } from '../ui/toasts.tsx';
import { curlOf } from './client.ts';

/**
 * A change through the API. When it succeeds, all queries are read again and `done` is shown. An error is shown too, unless
 * `quiet`: then the caller shows it beside its cause while it is on the screen. Until a change has ended, another one is ignored.
 * `curl` makes the command that sends the same request.
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
  const isShown = useRef(false);
  useEffect(() => {
    isShown.current = true;
    return () => {
      isShown.current = false;
    };
  }, []);
  // A second click may come before the button is drawn as disabled.
  const isRunning = useRef(false);
  const mutation = useMutation({
    mutationFn: run,
    onSuccess: async () => {
      if (done !== undefined) say(done);
      await queries.invalidateQueries({ predicate: ({ queryKey }) => queryKey[0] !== 'session' });
    },
    onError: (error) => {
      if (!quiet || !isShown.current) say(error.message, 'problem');
    },
  });
  const mutate = (input: Input, options?: MutateOptions<Output, Error, Input>): void => {
    if (isRunning.current) return;
    isRunning.current = true;
    mutation.mutate(input, {
      ...options,
      onSettled: (...ended) => {
        isRunning.current = false;
        options?.onSettled?.(...ended);
      },
    });
  };
  /** Forgets the change: how it ends is no longer shown. */
  const reset = (): void => {
    isRunning.current = false;
    mutation.reset();
  };
  return { ...mutation, mutate, reset, curl: (input: Input) => curlOf(() => run(input)) };
}
