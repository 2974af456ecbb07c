/** The look of tabs and of the bar that they are in. */
export const TAB_BAR = 'scroll-hint -mx-1 flex gap-1 overflow-x-auto px-1 py-0.5';
export const TAB =
  'flex h-9 shrink-0 items-center rounded-md px-3 text-muted hover:bg-hover hover:text-text aria-[current=page]:bg-accent-soft ' +
  'aria-[current=page]:font-medium aria-[current=page]:text-accent-strong max-md:h-11';
