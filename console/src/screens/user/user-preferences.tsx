import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { answer } from '../../api/answer.ts';
import { useChange } from '../../api/change.ts';
import { application } from '../../api/client.ts';
import type { ApplicationRead } from '../../api/queries.ts';
import { useMayChange } from '../../api/session.ts';
import { Button } from '../../ui/button.tsx';
import { Sheet } from '../../ui/dialogs.tsx';
import { Form } from '../../ui/form.tsx';
import { Failed } from '../../ui/parts.tsx';
import { KIND_NAMES, kindName, type Kind, type Medium } from '../messages/words.ts';

type Notifications = ApplicationRead<'/v1/users/{id}/preferences'>['notifications'];

const MEDIA: readonly (readonly [Medium, string])[] = [
  ['email', 'e-mail'],
  ['push', 'push'],
];

const includes = (all: Notifications, kind: Kind, medium: Medium): boolean => all[kind]?.includes(medium) ?? false;

/** What the user does not get: `Recap: no e-mail`. */
const refusedOf = (all: Notifications): string[] =>
  KIND_NAMES.flatMap((kind) => {
    const without = MEDIA.filter(([medium]) => !includes(all, kind, medium)).map(([, name]) => name);
    return without.length === 0 ? [] : [`${kindName(kind)}: no ${without.join(', no ')}`];
  });

/** The kinds of messages that a user unsubscribed from, and a form to change them. */
export function UserPreferences({ id, subscribed }: { id: string; subscribed: boolean }) {
  const [isOpen, setOpen] = useState(false);
  const mayChange = useMayChange();
  const preferences = useQuery({
    queryKey: ['user', id, 'preferences'],
    queryFn: () => answer(application.GET('/v1/users/{id}/preferences', { params: { path: { id } } })),
  });
  if (preferences.isError) return <Failed error={preferences.error} />;
  if (preferences.data === undefined) return null;
  const { notifications } = preferences.data;
  const refused = [...(subscribed ? [] : ['No e-mails at all']), ...refusedOf(notifications)];
  const close = (): void => setOpen(false);
  return (
    <div className="flex flex-wrap items-start justify-between gap-2">
      {refused.length === 0 ? (
        <p className="text-muted">Subscribed to all kinds.</p>
      ) : (
        <ul>
          {refused.map((line) => (
            <li key={line}>{line}</li>
          ))}
        </ul>
      )}
      {mayChange && <Button onClick={() => setOpen(true)}>Subscriptions</Button>}
      <Sheet open={isOpen} onClose={close} title={`Messages to ${id}`}>
        <Choice id={id} before={{ subscribed, notifications }} onSaved={close} />
      </Sheet>
    </div>
  );
}

interface Subscriptions {
  subscribed: boolean;
  notifications: Notifications;
}

/** What a person changed stays; the rest shows what is stored, also if it is read again. */
function Choice({ id, before, onSaved }: { id: string; before: Subscriptions; onSaved: () => void }) {
  const [isSubscribed, setSubscribed] = useState<boolean | null>(null);
  /** By kind and medium. */
  const [picked, setPicked] = useState<ReadonlyMap<string, boolean>>(new Map());
  const subscribed = isSubscribed ?? before.subscribed;
  const isPicked = (kind: Kind, medium: Medium): boolean =>
    picked.get(`${kind} ${medium}`) ?? includes(before.notifications, kind, medium);
  const changed = KIND_NAMES.filter((kind) =>
    MEDIA.some(([medium]) => isPicked(kind, medium) !== includes(before.notifications, kind, medium)),
  );
  const params = { path: { id } };
  const save = useChange({
    run: async () => {
      if (changed.length > 0) {
        const notifications = Object.fromEntries(
          changed.map((kind) => [kind, MEDIA.flatMap(([medium]) => (isPicked(kind, medium) ? [medium] : []))]),
        );
        await answer(application.PATCH('/v1/users/{id}/preferences', { params, body: { notifications } }));
      }
      if (subscribed !== before.subscribed)
        await answer(application.PATCH('/v1/users/{id}', { params, body: { subscribeToEmails: subscribed } }));
    },
    done: 'Saved.',
    quiet: true,
  });
  const isDirty = changed.length > 0 || subscribed !== before.subscribed;
  return (
    <Form
      change={{ ...save, curl: () => save.curl() }}
      onSubmit={() => save.mutate(undefined, { onSuccess: onSaved })}
      submit="Save"
      isDirty={isDirty}
      incomplete={!isDirty}
    >
      <p className="text-muted">The user’s own choice, which the link in each e-mail changes, too.</p>
      <label className="flex items-center gap-2">
        <input type="checkbox" checked={subscribed} onChange={({ target }) => setSubscribed(target.checked)} />
        E-mails
      </label>
      {KIND_NAMES.map((kind) => (
        <fieldset key={kind} className="flex flex-wrap gap-x-4">
          <legend className="font-medium">{kindName(kind)}</legend>
          {MEDIA.map(([medium, name]) => (
            <label key={medium} className="flex items-center gap-2 py-0.5">
              <input
                type="checkbox"
                disabled={medium === 'email' && !subscribed}
                checked={isPicked(kind, medium)}
                onChange={({ target }) => setPicked(new Map([...picked, [`${kind} ${medium}`, target.checked]]))}
              />
              {name}
            </label>
          ))}
        </fieldset>
      ))}
    </Form>
  );
}
