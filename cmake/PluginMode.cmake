# cmake -DFILE=<plugin> -P PluginMode.cmake: the modes an installed plugin has, whatever the umask. The
# loader refuses plugins, and directories of plugins, that others may write.
set(read_only_for_others OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE
  WORLD_READ WORLD_EXECUTE)
get_filename_component(plugins ${FILE} DIRECTORY)
get_filename_component(parent ${plugins} DIRECTORY)
file(CHMOD ${FILE} ${plugins} ${parent} PERMISSIONS ${read_only_for_others})
