import { useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { ChevronDown } from 'lucide-react';
import { useState } from 'react';
import { answer, one } from '../../api/answer.ts';
import { useChange } from '../../api/change.ts';
import { admin } from '../../api/client.ts';
import { managedUserQuery, type User } from '../../api/queries.ts';
import { useMayChange } from '../../api/session.ts';
import { Button } from '../../ui/button.tsx';
import { Confirm } from '../../ui/dialogs.tsx';
import { Menu, MenuItem } from '../../ui/menu.tsx';
import { saveFile } from '../../ui/save-file.ts';
import { SendEvent } from '../send-event.tsx';
import { EditUser } from './edit-user.tsx';
import { MergeUser } from './merge-user.tsx';

type Open = 'event' | 'edit' | 'reset' | 'hide' | 'merge' | 'delete' | null;

export function UserActions({ user }: { user: User }) {
  const { id } = user;
  const mayChange = useMayChange();
  const [open, setOpen] = useState<Open>(null);
  const close = (): void => setOpen(null);
  const navigate = useNavigate();
  const reset = useChange({
    run: () => one(admin.POST('/v1/streaks/reset', { body: { users: [{ id }] } })),
    done: 'The streak was reset.',
  });
  const exported = useChange({
    run: async () => {
      const document = await answer(admin.GET('/v1/users/{id}/export', { params: { path: { id } } }));
      saveFile(`user-${id}.json`, JSON.stringify(document, null, 2), 'application/json');
    },
  });
  const remove = useChange({
    run: async () => {
      await one(admin.DELETE('/v1/users/{id}', { params: { path: { id } } }));
      await navigate({ to: '/users' });
    },
    done: 'The user is deleted.',
  });
  const managed = useQuery(managedUserQuery(id));
  const hidden = managed.data?.hidden === true;
  const hide = useChange({
    run: () => answer(admin.PATCH('/v1/users/{id}', { params: { path: { id } }, body: { hidden: !hidden } })),
    done: hidden ? 'The user is on leaderboards again.' : 'The user is hidden from leaderboards.',
  });
  if (!mayChange)
    return (
      <Button disabled={exported.isPending} onClick={() => exported.mutate()}>
        Export everything
      </Button>
    );
  return (
    <>
      <Button onClick={() => setOpen('event')}>Send an event</Button>
      <Button onClick={() => setOpen('edit')}>Edit</Button>
      <Menu
        trigger={
          <Button>
            More <ChevronDown size={14} aria-hidden />
          </Button>
        }
      >
        <MenuItem onClick={() => exported.mutate()}>Export everything</MenuItem>
        <MenuItem onClick={() => setOpen('hide')}>
          {hidden ? 'Show on leaderboards …' : 'Hide from leaderboards …'}
        </MenuItem>
        <MenuItem onClick={() => setOpen('reset')}>Reset the streak …</MenuItem>
        <MenuItem onClick={() => setOpen('merge')}>Merge into another user …</MenuItem>
        <MenuItem danger onClick={() => setOpen('delete')}>
          Delete the user …
        </MenuItem>
      </Menu>
      <SendEvent user={id} open={open === 'event'} onClose={close} />
      <EditUser user={user} open={open === 'edit'} onClose={close} />
      <MergeUser id={id} open={open === 'merge'} onClose={close} />
      <Confirm
        open={open === 'hide'}
        onClose={close}
        title={hidden ? `Show ${id} on leaderboards?` : `Hide ${id} from leaderboards?`}
        action={hidden ? 'Show' : 'Hide'}
        busy={hide.isPending}
        onConfirm={() => hide.mutate(undefined, { onSettled: close })}
      >
        {hidden
          ? 'The user’s scores get their places back, unless the user hides by own choice.'
          : 'The user keeps all scores, and holds no place on any leaderboard. Runs that have ended stay unchanged.'}
      </Confirm>
      <Confirm
        open={open === 'reset'}
        onClose={close}
        title="Reset the streak?"
        action="Reset"
        busy={reset.isPending}
        onConfirm={() => reset.mutate(undefined, { onSettled: close })}
      >
        Its length becomes 0, as if the streak had been lost now. You can restore it.
      </Confirm>
      <Confirm
        open={open === 'delete'}
        onClose={close}
        title={`Delete ${id}?`}
        action="Delete for good"
        busy={remove.isPending}
        onConfirm={() => remove.mutate(undefined, { onSettled: close })}
      >
        Deletes all data of the user, including places on leaderboards. This cannot be undone.
      </Confirm>
    </>
  );
}
