import { Dialog } from '@base-ui/react/dialog';
import { useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useEffect, useState, type KeyboardEvent } from 'react';
import { answer } from '../api/answer.ts';
import { admin } from '../api/client.ts';
import { useMayChange } from '../api/session.ts';
import { useSettled } from '../api/use-settled.ts';
import { useResources, type Entry } from '../api/use-resources.ts';
import { PARTS } from './navigation.tsx';

/** Delay after typing before users are searched. */
const TYPING_MS = 150;
const USERS = 6;
const SHOWN = 30;

const SCREENS: readonly Entry[] = PARTS.flatMap(({ links }) =>
  links.map(({ to, text }) => ({ kind: 'Screen', text, link: { to } })),
);

const ACTIONS: readonly Entry[] = [
  { to: '/metrics', noun: 'metric' },
  { to: '/attributes', noun: 'attribute' },
  { to: '/achievements', noun: 'achievement' },
  { to: '/points', noun: 'points system' },
  { to: '/leaderboards', noun: 'leaderboard' },
  { to: '/rewards', noun: 'reward' },
  { to: '/webhooks', noun: 'webhook' },
  { to: '/keys', noun: 'admin key' },
  { to: '/keys', noun: 'application key' },
].map(({ to, noun }) => ({
  kind: 'Action',
  text: `New ${noun}`,
  link: { to, hash: `new-${noun.replaceAll(' ', '-')}` } as Entry['link'],
}));

/** Users whose ID, name or e-mail address begins with a text. */
function useUsers(typed: string): Entry[] {
  const settled = useSettled(typed, TYPING_MS);
  const found = useQuery({
    queryKey: ['users', 'found', settled],
    queryFn: () => answer(admin.GET('/v1/users', { params: { query: { limit: USERS, skip: 0, search: settled } } })),
    enabled: settled !== '',
  });
  // What was found for the text before would be opened by the Enter key.
  if (typed === '' || typed !== settled) return [];
  return (found.data ?? []).map(({ id, name }) => ({
    kind: 'User',
    text: name ?? id,
    key: id,
    link: { to: '/users/$id', params: { id } } as const,
  }));
}

/** 0: the name begins with the text; 1: a word of it does; 2: the name or the key contains it; `null`: none of these. */
function rankOf({ text, key = '' }: Entry, typed: string): number | null {
  const name = text.toLowerCase();
  if (name.startsWith(typed) || key.toLowerCase().startsWith(typed)) return 0;
  if (name.includes(` ${typed}`)) return 1;
  return name.includes(typed) || key.toLowerCase().includes(typed) ? 2 : null;
}

function matching(entries: readonly Entry[], typed: string): Entry[] {
  return entries
    .flatMap((entry) => {
      const rank = rankOf(entry, typed);
      return rank === null ? [] : [{ entry, rank }];
    })
    .toSorted((a, b) => a.rank - b.rank)
    .map(({ entry }) => entry);
}

/** Finds users, resources, screens and actions. */
export function Search({ open, onClose }: { open: boolean; onClose: () => void }) {
  return (
    <Dialog.Root open={open} onOpenChange={(next) => !next && onClose()}>
      <Dialog.Portal>
        <Dialog.Backdrop className="fixed inset-0 z-30 bg-black/40" />
        <Dialog.Popup
          aria-label="Search"
          className="fixed inset-x-2 top-2 z-40 flex max-h-[calc(100dvh-1rem)] flex-col rounded-xl bg-raised shadow-pop outline-none sm:inset-x-auto sm:top-[12dvh] sm:left-1/2 sm:max-h-[70dvh] sm:w-[36rem] sm:-translate-x-1/2"
        >
          <Found open={open} onClose={onClose} />
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  );
}

function Found({ open, onClose }: { open: boolean; onClose: () => void }) {
  const navigate = useNavigate();
  const mayChange = useMayChange();
  const [text, setText] = useState('');
  const [chosen, setChosen] = useState(0);
  const typed = text.trim().toLowerCase();
  const resources = useResources(open);
  const users = useUsers(text.trim());
  const actions = mayChange ? ACTIONS : [];
  const entries =
    typed === ''
      ? [...SCREENS, ...actions]
      : [...matching([...SCREENS, ...resources, ...actions], typed).slice(0, SHOWN), ...users];
  const at = Math.min(chosen, Math.max(0, entries.length - 1));
  useEffect(() => {
    document.querySelector(`#found-${at}`)?.scrollIntoView({ block: 'nearest' });
  }, [at]);
  const go = (entry: Entry | undefined): void => {
    if (entry === undefined) return;
    onClose();
    void navigate(entry.link as never);
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined) {
      event.preventDefault();
      setChosen((at + step + entries.length) % Math.max(1, entries.length));
    } else if (event.key === 'Enter') {
      event.preventDefault();
      go(entries[at]);
    }
  };
  return (
    <>
      <input
        type="text"
        role="combobox"
        aria-label="Search for users, resources, screens and actions"
        aria-expanded="true"
        aria-controls="found"
        aria-activedescendant={entries.length > 0 ? `found-${at}` : undefined}
        autoComplete="off"
        spellCheck={false}
        placeholder="Users, resources, screens, actions"
        value={text}
        onChange={({ target }) => {
          setText(target.value);
          setChosen(0);
        }}
        onKeyDown={onKeyDown}
        className="h-12 shrink-0 rounded-t-xl border-b border-line bg-transparent px-4 text-base outline-none"
      />
      <div id="found" role="listbox" aria-label="Results" className="overflow-y-auto p-2">
        {entries.map((entry, index) => (
          // oxlint-disable-next-line jsx-a11y/click-events-have-key-events, jsx-a11y/interactive-supports-focus -- the input has the focus and handles the keys
          <div
            key={`${entry.kind} ${JSON.stringify(entry.link)}`}
            id={`found-${index}`}
            role="option"
            aria-selected={index === at}
            onMouseMove={() => setChosen(index)}
            onClick={() => go(entry)}
            className="flex min-h-9 cursor-pointer items-center gap-3 rounded-md px-2 aria-selected:bg-accent-soft pointer-coarse:min-h-11"
          >
            <span className="min-w-0 grow truncate">{entry.text}</span>
            {entry.key !== undefined && <span className="min-w-0 truncate text-xs text-muted">{entry.key}</span>}
            <span className="text-xs whitespace-nowrap text-muted">{entry.kind}</span>
          </div>
        ))}
      </div>
      {entries.length === 0 && (
        <p className="px-4 pb-4 text-muted">
          Nothing found. Users are found by the beginning of their ID, name or e-mail.
        </p>
      )}
    </>
  );
}
