'use client';
import {
  createContext,
  useCallback,
  useContext,
  useEffect,
  useMemo,
  useRef,
  useState,
  useSyncExternalStore,
  type ReactNode,
} from 'react';
import { invalidCall, warn } from '../src/errors.ts';
import type { Laurel } from '../src/laurel.ts';
import type { LiveMessages } from '../src/live.ts';
import type { LeaderboardPage, Streak, User, UserPoints } from '../src/generated.ts';
import type { LeaderboardView, Resource, ResourceData } from './resources.ts';
import { createStore, LOADING, type Reading, type Store, type StreamOptions } from './store.ts';

const Context = createContext<Store | null>(null);

export interface LaurelProviderProps {
  /** The client of the signed-in user. Create it outside of components, or keep it in a state: another client begins from scratch. */
  laurel: Laurel;
  /** Options of the live stream; `false` for none: then the hooks read once, and after `refresh`. Read only at the beginning. */
  live?: StreamOptions | false;
  children?: ReactNode;
}

/** So many clients of one user after another are a mistake: each is made by a render. */
const MOST_CLIENTS = 3;

/** Warns about clients that are made by a render. */
function useFewClients({ laurel }: Store): void {
  const seen = useRef({ laurel, clients: 1 });
  useEffect(() => {
    const { current } = seen;
    if (current.laurel === laurel) return;
    const clients = current.laurel.userId === laurel.userId ? current.clients + 1 : 1;
    seen.current = { laurel, clients };
    if (clients === MOST_CLIENTS)
      warn(
        'LaurelProvider gets one client after another, and each reads everything again. Call createLaurel outside of components, or in useState or useMemo.',
      );
  }, [laurel]);
}

/** Gives the hooks below it one client and one live stream, which is open while a hook is mounted. */
export function LaurelProvider({ laurel, live, children }: LaurelProviderProps) {
  if (typeof (laurel as Partial<Laurel> | null | undefined)?.live !== 'function')
    throw invalidCall('LaurelProvider: `laurel` must be a client, made by createLaurel.');
  const [store, setStore] = useState(() => createStore(laurel, live));
  if (store.laurel !== laurel) setStore(createStore(laurel, live));
  useFewClients(store);
  return <Context.Provider value={store}>{children}</Context.Provider>;
}

function useStore(): Store {
  const store = useContext(Context);
  if (store === null) throw invalidCall('There is no LaurelProvider above this component.');
  return store;
}

/** The state of a hook. `refresh` reads again, after a change that no message reports. */
export type Loaded<T> = Reading<T> & { refresh: () => Promise<void> };

/** Options of each hook. */
export interface HookOptions<T> {
  /** Shown until the first answer, for example read on the server that renders the page; `null` if there is nothing. */
  initial?: T | null | undefined;
}

const loading = (): Reading<never> => LOADING;

function useResource<T extends ResourceData>(resource: Resource, given: T | null | undefined): Loaded<T> {
  const store = useStore();
  const id = JSON.stringify(resource);
  const reading = useSyncExternalStore(
    useCallback((listener: () => void) => store.subscribe(id, listener), [store, id]),
    useCallback(() => store.readingOf(id) as Reading<T>, [store, id]),
    loading,
  );
  // The same function until the resource changes, so it works in lists of dependencies.
  const refresh = useCallback((): Promise<void> => store.refresh(id), [store, id]);
  const initial = given ?? undefined;
  return useMemo(() => {
    if (initial === undefined || reading.data !== undefined) return { ...reading, refresh };
    if (reading.status === 'failed') return { ...reading, data: initial, refresh };
    return { status: 'ready', data: initial, error: undefined, refresh };
  }, [refresh, reading, initial]);
}

/** The client of the provider, for calls such as `track`. */
export const useLaurel = (): Laurel => useStore().laurel;

/** The profile of the client's user. */
export const useUser = ({ initial }: HookOptions<User> = {}): Loaded<User> => useResource({ kind: 'user' }, initial);

/** The streak of the client's user; with `historyPeriods`, that many periods, the current one last. */
export const useStreak = ({
  historyPeriods,
  initial,
}: { historyPeriods?: number } & HookOptions<Streak> = {}): Loaded<Streak> =>
  useResource({ kind: 'streak', historyPeriods }, initial);

/** The points of the client's user in a points system; with `awards`, the latest awards. */
export const usePoints = (
  key: string,
  { awards, initial }: { awards?: number } & HookOptions<UserPoints> = {},
): Loaded<UserPoints> => useResource({ kind: 'points', key, awards }, initial);

/** Places of a leaderboard: from the top, `around` a user, or `among` users. At most 20 leaderboards are live. */
export const useLeaderboard = (
  key: string,
  { initial, ...view }: LeaderboardView & HookOptions<LeaderboardPage> = {},
): Loaded<LeaderboardPage> => useResource({ kind: 'leaderboard', key, view }, initial);

/** Calls `listener` with each message of a type, such as `achievement.completed`, while the component is mounted. */
export function useLiveMessage<Type extends keyof LiveMessages>(
  type: Type,
  listener: (message: LiveMessages[Type]) => void,
): void {
  const store = useStore();
  const latest = useRef(listener);
  useEffect(() => {
    latest.current = listener;
  });
  useEffect(() => store.onMessage(type, (message) => latest.current(message)), [store, type]);
}
