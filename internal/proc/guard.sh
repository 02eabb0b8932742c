# tenon guard: kills the processes of the tool servers once tenon is gone.
# On standard input come the mark that all of them carry in their environment,
# then "+ID" and "-ID" for each session that starts and ends, and "q" to leave.
trap '' HUP INT QUIT TERM PIPE
read -r mark
live=' '
while read -r word; do
	id=${word#?}
	case $word in
	+*) live="$live$id " ;;
	-*)
		case $live in
		*" $id "*) live="${live%%" $id "*} ${live#*" $id "}" ;;
		esac
		;;
	q) exit 0 ;;
	esac
done

# The pipe is closed, so tenon is gone, however it went.
told=$live

# list writes one line a process: PID PARENT KEY, where KEY is the session, or
# the group where the system does not tell it.
proc=
if read -r me _ </proc/self/stat && [ "$me" = $$ ]; then
	proc=yes # not the /proc of other processes than those that we see
fi
list() {
	if [ -z "$proc" ]; then
		ps -A -o stat= -o pid= -o ppid= -o pgid= | while read -r state pid parent key; do
			case $state in
			Z*) ;;
			*) echo "$pid $parent $key" ;;
			esac
		done
		return
	fi
	for dir in /proc/[0-9]*; do
		read -r line <"$dir/stat" || continue
		set -- ${line##*) } # state, parent, group, session
		case $1 in
		Z | X) ;;
		*) echo "${dir#/proc/} $2 $4" ;;
		esac
	done
}
marked() {
	if [ -n "$proc" ]; then
		grep -lsF -e "$mark" /proc/[0-9]*/environ | while IFS=/ read -r _ _ pid _; do
			echo "$pid"
		done
	else
		ps -A -E -ww -o pid= -o command= | while read -r pid command; do
			case $command in
			*"TENON_TREE="*"$mark"*) echo "$pid" ;;
			esac
		done
	fi
}

# A member is what carries the mark, shares the key of a member, or is the child
# of one. All are found before the first is killed, as the end of a parent hides
# whose child another was. Again until a round finds nobody: they may fork.
round=0
while [ $round -lt 100 ]; do
	round=$((round + 1))
	members=" $(echo $(marked)) "
	all=$(list)
	known=
	while [ "$known" != "$members$live" ]; do
		known=$members$live
		set -- $all
		while [ $# -ge 3 ]; do
			case "$members" in
			*" $1 "*) in=yes ;;
			*" $2 "*) in=yes members="$members$1 " ;;
			*) in= ;;
			esac
			case "$live" in
			*" $3 "*) [ -n "$in" ] || members="$members$1 " ;;
			*) [ -z "$in" ] || live="$live$3 " ;;
			esac
			shift 3
		done
	done
	# The groups as well, at once and for where nothing can be listed.
	for id in $told; do
		kill -s KILL -- "-$id"
	done
	told=
	set -- $members
	[ $# -gt 0 ] || exit 0
	for pid; do
		kill -s KILL -- "$pid"
	done
done
